/** Changes of rounds where a comparison with a node in dev mode, algod 5.1, has shown a difference. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as MapKey from '../ledger/MapKey.js'
import { appAddress } from '../ledger/programs/AppRecords.js'
import { compile, deploy, fundApplication } from '../testing/applications.test.helper.js'
import { createAsset, fund, type Person, personOf, sign, signGroup, TestNode } from '../testing/TestNode.test.helper.js'

type Resource = {
  readonly Addr: string
  readonly Aidx: number
  readonly Params: { readonly Deleted: boolean }
  readonly State: { readonly Deleted: boolean }
}
type Delta = {
  readonly Accts: {
    readonly Accts: readonly { readonly Addr: string }[]
    readonly AppResources: readonly Resource[] | null
    readonly AssetResources: readonly Resource[] | null
  }
  readonly Creatables: { readonly [id: string]: { readonly Created: boolean; readonly Creator: string } } | null
}

async function deltaOf(node: TestNode): Promise<Delta> {
  return (await node.get(`/v2/deltas/${node.ledger.last.round}`)).json
}

/** The accounts that the last round wrote, without the rewards pool and the fee sink. */
async function writtenAccounts(node: TestNode): Promise<string[]> {
  const { rewardsPool, feeSink } = node.ledger.genesis.chain
  const special = [rewardsPool, feeSink].map(MapKey.address)
  return (await deltaOf(node)).Accts.Accts.map(({ Addr }) => Addr).filter((address) => !special.includes(address))
}

function started(): { node: TestNode; alice: Person; bob: Person } {
  const node = new TestNode()
  return { node, alice: node.funded(0), bob: node.funded(1) }
}

test('a move of nothing writes an account only if it has at least one Algo', async () => {
  const { node, alice, bob } = started()
  const poor = personOf(62)
  fund(node, poor, 200_000n)
  await node.send(sign(node.pay(alice, poor, 0n), alice))
  assert.deepEqual(await writtenAccounts(node), [alice.address])
  await node.send(
    ...signGroup([
      [node.pay(alice, bob, 0n, { fee: 2000n }), alice],
      [node.pay(poor, bob, 0n, { fee: 0n }), poor],
    ]),
  )
  assert.deepEqual(await writtenAccounts(node), [alice.address, bob.address])
})

test('an account with nothing that is closed is written after the one that it is closed to', async () => {
  const { node, alice, bob } = started()
  const none = personOf(63)
  await node.send(
    ...signGroup([
      [node.pay(alice, alice, 0n, { fee: 2000n }), alice],
      [node.txn('pay', none, { close: bob.publicKey, fee: 0n }), none],
    ]),
  )
  assert.deepEqual(await writtenAccounts(node), [alice.address, bob.address, none.address])
})

test('assets and holdings are reported together, in the order of the first write', async () => {
  const { node, alice, bob } = started()
  const first = await createAsset(node, alice, { t: 5n })
  const second = await createAsset(node, bob, { m: bob.publicKey })
  await node.send(
    ...signGroup([
      [node.txn('axfer', bob, { xaid: first, arcv: bob.publicKey }), bob],
      [node.txn('acfg', bob, { caid: second, apar: { m: alice.publicKey } }), bob],
      [node.txn('axfer', alice, { xaid: first, arcv: bob.publicKey, aamt: 1n }), alice],
    ]),
  )
  const records = (await deltaOf(node)).Accts.AssetResources!.map(({ Addr, Aidx }) => [Addr, BigInt(Aidx)])
  assert.deepEqual(records, [
    [bob.address, first],
    [bob.address, second],
    [alice.address, first],
  ])
})

test('an application that is created and deleted in one block is reported as deleted', async () => {
  const { node, alice, bob } = started()
  const program = await compile('int 1')
  const apid = node.ledger.state.transactionCount() + 1n
  await node.send(
    ...signGroup([
      [node.txn('appl', alice, { apap: program, apsu: program, apls: { nui: 1n } }), alice],
      [node.txn('appl', bob, { apid, apan: 1n }), bob],
      [node.txn('appl', alice, { apid, apan: 5n }), alice],
    ]),
  )
  const { Accts, Creatables } = await deltaOf(node)
  const created = Creatables![`${apid}`]!
  assert.deepEqual([created.Created, created.Creator], [false, alice.address])
  const records = Accts.AppResources!.map(({ Addr, Params, State }) => [Addr, Params.Deleted, State.Deleted] as const)
  assert.deepEqual(
    new Map(records.map(([address, ...rest]) => [address, rest])),
    new Map([
      [alice.address, [true, false]],
      [bob.address, [false, false]],
    ]),
  )
})

test('a local state that is opened and closed in one block is reported as deleted', async () => {
  const { node, alice, bob } = started()
  const apid = await deploy(node, alice, 'int 1')
  await node.send(
    ...signGroup([
      [node.txn('appl', bob, { apid, apan: 1n }), bob],
      [node.txn('appl', bob, { apid, apan: 2n }), bob],
    ]),
  )
  const [record] = (await deltaOf(node)).Accts.AppResources!
  assert.deepEqual([record!.Addr, record!.State.Deleted], [bob.address, true])
})

test('a box that is resized to its size writes the account of the application', async () => {
  const { node, alice } = started()
  const apid = await deploy(node, alice, 'byte "b"; int 8; box_create; pop; byte "b"; int 8; box_resize; int 1')
  fundApplication(node, apid)
  const call = () => node.send(sign(node.txn('appl', alice, { apid, apbx: [{ n: Buffer.from('b') }] }), alice))
  await call()
  await call()
  assert.deepEqual(await writtenAccounts(node), [alice.address, MapKey.address(appAddress(apid))])
})
