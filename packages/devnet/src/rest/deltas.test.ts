import assert from 'node:assert/strict'
import { test } from 'node:test'
import { totalsOf } from '../ledger/State.js'
import { compile, deploy, fundApplication } from '../testing/applications.test.helper.js'
import {
  createAsset,
  decoded,
  errorMessageOf,
  fund,
  personOf,
  sign,
  TestNode,
} from '../testing/TestNode.test.helper.js'

const newcomer = personOf(61)

test('the changes of the last hundred rounds are available, and no others', async () => {
  const node = new TestNode()
  const statuses = async (rounds: number[]) =>
    Promise.all(rounds.map(async (round) => (await node.get(`/v2/deltas/${round}`)).status))
  assert.deepEqual(await statuses([0, 1]), [404, 404])
  await node.post('/devnet/mine', { rounds: 102 })
  assert.deepEqual(await statuses([0, 1, 2, 3, 102, 103]), [404, 404, 404, 200, 200, 404])
  const stem = 'failed retrieving State Delta: round'
  assert.equal(errorMessageOf(await node.get('/v2/deltas/1'), 404), `${stem} 1 before dbRound 2`)
  assert.equal(
    errorMessageOf(await node.get('/v2/deltas/2'), 404),
    `${stem} 2 not in deltas: dbRound 2, deltas 100, offset 0`,
  )
  assert.equal(errorMessageOf(await node.get('/v2/deltas/103'), 404), `${stem} 103 too high: dbRound 2, deltas 100`)
  // A restored ledger has the blocks, but not their changes.
  const { snapshot } = (await node.post('/devnet/snapshot')).json
  await node.post('/devnet/revert', { snapshot })
  assert.equal((await node.get('/v2/blocks/102')).status, 200)
  assert.deepEqual(await statuses([102]), [404])
  await node.post('/devnet/mine')
  assert.deepEqual(await statuses([102, 103]), [404, 200])
})

test('an empty block changes only the rewards pool, which a node writes in every round', async () => {
  const node = new TestNode()
  await node.post('/devnet/mine')
  const delta = (await node.get('/v2/deltas/1')).json
  assert.deepEqual(
    [delta.Accts.Accts.length, delta.Accts.AssetResources, delta.Creatables, delta.Txids],
    [1, null, null, {}],
  )
})

test('an asset that is created and destroyed in one block is reported as destroyed', async () => {
  const node = new TestNode({ blocks: 'manual' })
  const person = node.funded(0)
  await node.send(sign(node.txn('acfg', person, { apar: { t: 1n, m: person.publicKey } }), person))
  await node.send(sign(node.txn('acfg', person, { caid: 1001n }), person))
  await node.post('/devnet/mine')
  const delta = (await node.get('/v2/deltas/1')).json
  assert.deepEqual(delta.Creatables, { 1001: { Created: false, Creator: person.address, Ctype: 0, Ndeltas: 0 } })
  const [record] = delta.Accts.AssetResources
  assert.deepEqual([record.Aidx, record.Holding.Deleted, record.Params.Deleted], [1001, true, true])
})

test('the totals are those of all accounts, regardless of how they changed', async () => {
  const node = new TestNode()
  const person = node.funded(0)
  const check = () => {
    const { state } = node.ledger
    assert.deepEqual(state.totals, totalsOf(state.allAccounts().values()))
  }
  check()
  fund(node, newcomer, 1_234_567n)
  check()
  await createAsset(node, person)
  const keys = { votekey: newcomer.publicKey, selkey: newcomer.publicKey, sprfkey: new Uint8Array(64).fill(1) }
  await node.send(sign(node.txn('keyreg', person, { ...keys, votelst: 1000n, votekd: 1n }), person))
  check()
  const { snapshot } = (await node.post('/devnet/snapshot')).json
  await node.send(sign(node.pay(newcomer, person, 1n, { close: person.publicKey }), newcomer))
  check()
  await node.post('/devnet/revert', { snapshot })
  check()
  await node.post('/devnet/reset')
  check()
})

test('applications, local states and boxes are part of the changes', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const source = `txn OnCompletion; int DeleteApplication; ==; bnz end
    txn OnCompletion; int OptIn; ==; bz call; txn Sender; byte "l"; int 5; app_local_put; b end
    call: byte "g"; byte "value"; app_global_put; byte "b"; txna ApplicationArgs 0; box_put
    end: int 1`
  const apid = await deploy(node, alice, source)
  const deltaOf = async () => (await node.get(`/v2/deltas/${node.ledger.last.round}`)).json
  const created = await deltaOf()
  assert.deepEqual(created.Creatables, { [`${apid}`]: { Created: true, Creator: alice.address, Ctype: 1, Ndeltas: 0 } })
  const [application] = created.Accts.AppResources
  assert.deepEqual([application.Addr, application.Aidx], [alice.address, Number(apid)])
  assert.deepEqual(application.Params.Params.gsch, { nbs: 16, nui: 16 })
  assert.equal(application.Params.Params.clearp, Buffer.from(await compile('int 1')).toString('base64'))
  assert.deepEqual(application.State, { Deleted: false, LocalState: null })

  fundApplication(node, apid)
  await node.send(sign(node.txn('appl', alice, { apid, apan: 1n }), alice))
  const [joined] = (await deltaOf()).Accts.AppResources
  assert.deepEqual(joined.State.LocalState.tkv, { l: { tt: 2, ui: 5 } })

  const call = (text: string) =>
    node.send(
      sign(node.txn('appl', alice, { apid, apaa: [Buffer.from(text)], apbx: [{ n: Buffer.from('b') }] }), alice),
    )
  const key = Buffer.concat([Buffer.from('bx:'), Buffer.from([0, 0, 0, 0, 0, 0, 3, 0xe9]), Buffer.from('b')])
  await call('first')
  const first = decoded((await node.get(`/v2/deltas/${node.ledger.last.round}?format=msgpack`)).bytes)
  assert.deepEqual(Object.values(first.KvMods), [{ Data: `bin:${btoa('first')}`, OldData: null }])
  await call('other')
  const { KvMods, Accts } = await deltaOf()
  assert.deepEqual(KvMods, { [key.toString('utf8')]: { Data: btoa('other'), OldData: btoa('first') } })
  // The global value was written again.
  assert.equal(Accts.AppResources.length, 1)

  await node.send(sign(node.txn('appl', alice, { apid, apan: 5n }), alice))
  const deleted = await deltaOf()
  assert.equal(deleted.Creatables[`${apid}`].Created, false)
  assert.deepEqual(deleted.Accts.AppResources[0].Params, { Deleted: true, Params: null })
})

test('while an offset is set, the header of the changes has the time of the clock', async () => {
  const node = new TestNode({ nowMs: () => 1_000_000_000 })
  await node.post('/devnet/mine')
  await node.post('/v2/devmode/blocks/offset/3')
  await node.post('/devnet/mine')
  const times = async (round: number) => {
    const { Hdr, PrevTimestamp } = (await node.get(`/v2/deltas/${round}`)).json
    return [PrevTimestamp, Hdr.ts, (await node.get(`/v2/blocks/${round}`)).json.block.ts]
  }
  assert.deepEqual(await times(1), [0, 1_000_000, 1_000_000])
  assert.deepEqual(await times(2), [1_000_000, 1_000_000, 1_000_003])
})

test('what a block wrote without changing it is part of the changes, and what it only read is not', async () => {
  const node = new TestNode()
  const [alice, bob] = [node.funded(0), node.funded(1)]
  const source = `txna ApplicationArgs 0; btoi; switch put delete local create read; err
    put: byte "g"; int 1; app_global_put; b end
    delete: byte "none"; app_global_del; b end
    local: txn Sender; byte "none"; app_local_del; b end
    create: byte "b"; byte "x"; box_put; byte "b"; box_del; pop; b end
    read: byte "g"; app_global_get; pop
    end: int 1`
  const apid = await deploy(node, alice, source)
  fundApplication(node, apid)
  const call = async (part: number, apan?: bigint) => {
    const apaa = [Uint8Array.of(part)]
    await node.send(sign(node.txn('appl', bob, { apid, apan, apaa, apbx: [{ n: Buffer.from('b') }] }), bob))
    return (await node.get(`/v2/deltas/${node.ledger.last.round}`)).json
  }
  await call(0, 1n)
  const resources = async (part: number) => {
    const { AppResources } = (await call(part)).Accts
    return (AppResources as { Addr: string }[] | null)?.map(({ Addr }) => Addr)
  }
  assert.deepEqual(await resources(0), [alice.address], 'the same value')
  assert.deepEqual(await resources(1), [alice.address], 'a key that does not exist')
  assert.deepEqual(await resources(2), [bob.address], 'a local key that does not exist')
  assert.deepEqual(await resources(4), undefined, 'a read')
  assert.deepEqual(Object.values((await call(3)).KvMods), [{ Data: null, OldData: null }])
})

test('an update writes the account of the creator only if it gives sizes, and names who pays for them', async () => {
  const node = new TestNode()
  const [alice, bob] = [node.funded(0), node.funded(1)]
  const apid = await deploy(node, alice, 'int 1')
  const program = await compile('int 1')
  const update = async (fields: object) => {
    const txn = node.txn('appl', bob, { apid, apan: 4n, apap: program, apsu: program, ...fields })
    await node.send(sign(txn, bob))
    const { Accts } = (await node.get(`/v2/deltas/${node.ledger.last.round}`)).json
    const written = (Accts.Accts as { Addr: string }[]).map(({ Addr }) => Addr)
    return { isCreatorWritten: written.includes(alice.address), sponsor: Accts.AppResources[0].Params.Params.ss }
  }
  assert.deepEqual(await update({}), { isCreatorWritten: false, sponsor: undefined })
  assert.deepEqual(await update({ apgs: { nui: 16n, nbs: 16n } }), { isCreatorWritten: true, sponsor: bob.address })
  assert.deepEqual(await update({ apgs: { nui: 16n, nbs: 16n } }), { isCreatorWritten: false, sponsor: bob.address })
  const { bytes } = await node.get(`/v2/accounts/${alice.address}/applications/${apid}?format=msgpack`)
  assert.equal(decoded(bytes)['app-params'].ss, `bin:${Buffer.from(bob.publicKey).toString('base64')}`)
})

test('the parameters of a destroyed asset are deleted from its creator, and not from those who held it', async () => {
  const node = new TestNode({ blocks: 'manual' })
  const [alice, bob] = [node.funded(0), node.funded(1)]
  const assetId = await (async () => {
    await node.send(sign(node.txn('acfg', alice, { apar: { t: 1n, m: alice.publicKey } }), alice))
    await node.post('/devnet/mine')
    return node.ledger.state.transactionCount()
  })()
  await node.send(sign(node.txn('axfer', bob, { xaid: assetId, arcv: bob.publicKey }), bob))
  await node.post('/devnet/mine')
  await node.send(sign(node.txn('axfer', bob, { xaid: assetId, arcv: alice.publicKey, aclose: alice.publicKey }), bob))
  await node.send(sign(node.txn('acfg', alice, { caid: assetId }), alice))
  await node.post('/devnet/mine')
  const { AssetResources } = (await node.get(`/v2/deltas/${node.ledger.last.round}`)).json.Accts
  const deleted = (AssetResources as { Addr: string; Params: { Deleted: boolean } }[]).map(
    ({ Addr, Params }) => [Addr, Params.Deleted] as const,
  )
  assert.deepEqual(
    new Map(deleted),
    new Map([
      [bob.address, false],
      [alice.address, true],
    ]),
  )
})
