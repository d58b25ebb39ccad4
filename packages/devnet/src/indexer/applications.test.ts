import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as MapKey from '../ledger/MapKey.js'
import { appAddress } from '../ledger/programs/AppRecords.js'
import * as Dump from '../store/Dump.js'
import { deploy, fundApplication } from '../testing/applications.test.helper.js'
import { IndexerNode } from '../testing/IndexerNode.test.helper.js'
import { type Person, sign } from '../testing/TestNode.test.helper.js'

const source = `txn OnCompletion; int OptIn; ==; bz log; txn Sender; byte "k"; int 3; app_local_put
  log: txn NumAppArgs; bz end; txna ApplicationArgs 0; log; end: int 1`

async function setUp() {
  const node = new IndexerNode()
  const [alice, bob] = [node.funded(0), node.funded(1)]
  const [first, second] = [await deploy(node, alice, source), await deploy(node, alice, source)]
  const call = (from: Person, apid: bigint, apan: bigint, ...args: string[]) =>
    node.send(sign(node.txn('appl', from, { apid, apan, apaa: args.map((text) => Buffer.from(text)) }), from))
  return { node, alice, bob, first, second, call }
}

const [noOp, optIn, closeOut, deletion] = [0n, 1n, 2n, 5n]

// biome-ignore lint/suspicious/noExplicitAny: recorded JSON
const idsOf = (list: any[] | undefined) => list?.map(({ id }) => BigInt(id))

test('deleted applications are shown if they are asked for', async () => {
  const { node, alice, first, second, call } = await setUp()
  await call(alice, first, deletion)
  assert.deepEqual(idsOf((await node.read('/v2/applications')).applications), [second])
  assert.deepEqual(idsOf((await node.read('/v2/applications?include-all=true')).applications), [first, second])
  assert.equal((await node.ask(`/v2/applications/${first}`)).status, 404)
  const { application } = await node.read(`/v2/applications/${first}?include-all=true`)
  assert.deepEqual(application, {
    'created-at-round': 1,
    deleted: true,
    'deleted-at-round': 3,
    id: Number(first),
    params: {
      'approval-program': '',
      'clear-state-program': '',
      creator: alice.address,
      'global-state-schema': { 'num-byte-slice': 0, 'num-uint': 0 },
      'local-state-schema': { 'num-byte-slice': 0, 'num-uint': 0 },
    },
  })
  const created = `/v2/accounts/${alice.address}/created-applications`
  assert.deepEqual(idsOf((await node.read(created)).applications), [second])
  assert.deepEqual(idsOf((await node.read(`${created}?include-all=true`)).applications), [first, second])
})

test('an account shows the applications that it created and opted in to', async () => {
  const { node, alice, bob, first, second, call } = await setUp()
  await call(bob, first, optIn)
  await call(bob, second, optIn)
  await call(bob, second, closeOut)
  const { account } = await node.read(`/v2/accounts/${bob.address}`)
  assert.deepEqual(idsOf(account['apps-local-state']), [first])
  const [local] = account['apps-local-state']
  assert.deepEqual([local.deleted, local['opted-in-at-round'], local['key-value'].length], [false, 3, 1])
  assert.deepEqual(account['apps-total-schema'], { 'num-byte-slice': 4, 'num-uint': 4 })
  const all = (await node.read(`/v2/accounts/${bob.address}?include-all=true`)).account['apps-local-state']
  assert.deepEqual(idsOf(all), [first, second])
  assert.deepEqual([all[1].deleted, all[1]['closed-out-at-round']], [true, 5])
  const creator = (await node.read(`/v2/accounts/${alice.address}`)).account
  assert.deepEqual(idsOf(creator['created-apps']), [first, second])
  const without = (await node.read(`/v2/accounts/${alice.address}?exclude=created-apps,apps-local-state`)).account
  assert.equal(without['created-apps'], undefined)
  const locals = `/v2/accounts/${bob.address}/apps-local-state`
  assert.deepEqual(idsOf((await node.read(locals))['apps-local-states']), [first])
  assert.deepEqual(idsOf((await node.read(`${locals}?include-all=true`))['apps-local-states']), [first, second])
})

test('accounts are found by the application that they opted in to', async () => {
  const { node, bob, first, second, call } = await setUp()
  await call(bob, first, optIn)
  const found = async (id: bigint) =>
    (await node.read(`/v2/accounts?application-id=${id}`)).accounts.map(({ address }: { address: string }) => address)
  assert.deepEqual(await found(first), [bob.address])
  assert.deepEqual(await found(second), [])
})

test('logs come in pages', async () => {
  const { node, alice, bob, first, second, call } = await setUp()
  for (const text of ['a', 'b', 'c']) await call(alice, first, noOp, text)
  await call(bob, second, noOp, 'x')
  await call(bob, first, noOp, 'd')
  const target = `/v2/applications/${first}/logs`
  // biome-ignore lint/suspicious/noExplicitAny: recorded JSON
  const textsOf = (page: any) => page['log-data']?.flatMap(({ logs }: { logs: string[] }) => logs.map(atob))
  assert.deepEqual(textsOf(await node.read(target)), ['a', 'b', 'c', 'd'])
  const page = await node.read(`${target}?limit=3`)
  assert.deepEqual(textsOf(page), ['a', 'b', 'c'])
  const rest = await node.read(`${target}?limit=3&next=${encodeURIComponent(page['next-token'])}`)
  assert.deepEqual(textsOf(rest), ['d'])
  assert.deepEqual(textsOf(await node.read(`${target}?sender-address=${bob.address}`)), ['d'])
  assert.deepEqual(textsOf(await node.read(`${target}?min-round=4&max-round=5`)), ['b', 'c'])
  assert.equal((await node.read(`${target}?min-round=100`))['log-data'], undefined)
})

test('creation and deletion are kept in dumps, snapshots and resets', async () => {
  const { node, alice, bob, first, second, call } = await setUp()
  await call(bob, second, optIn)
  await call(alice, first, deletion)
  const text = Dump.write(node.ledger.snapshot(), node.genesis.chain.genesisHash)
  const shown = () => node.read(`/v2/applications?include-all=true`)
  const before = await shown()
  const { snapshot } = (await node.post('/devnet/snapshot')).json
  await call(alice, second, deletion)
  assert.notDeepEqual(await shown(), before)
  await node.post('/devnet/revert', { snapshot })
  assert.deepEqual(await shown(), before)
  await node.post('/devnet/reset')
  assert.deepEqual((await shown()).applications, [])
  node.ledger.restore(Dump.read(text, node.genesis))
  assert.deepEqual(await shown(), before)
  assert.equal(Dump.write(node.ledger.snapshot(), node.genesis.chain.genesisHash), text)
})

test('the balance of an earlier round counts inner transactions', async () => {
  const node = new IndexerNode()
  const [alice, bob] = [node.funded(0), node.funded(1)]
  const apid = await deploy(
    node,
    alice,
    `itxn_begin; int pay; itxn_field TypeEnum; txna Accounts 1; itxn_field Receiver; int 5; itxn_field Amount
    itxn_next; int acfg; itxn_field TypeEnum; int 9; itxn_field ConfigAssetTotal; itxn_submit; int 1`,
  )
  fundApplication(node, apid)
  const addressOf = (key: string) => `/v2/accounts/${MapKey.address(key)}`
  const [application, receiver] = [addressOf(appAddress(apid)), addressOf(bob.key)]
  const { round } = node.ledger.last
  const shown = async (target: string) => {
    const { account } = await node.read(target)
    return [account.amount, account.assets?.map((one: { amount: number }) => one.amount)]
  }
  const before = [await shown(application), await shown(receiver)]
  await node.send(sign(node.txn('appl', alice, { apid, fee: 3000n, apat: [bob.publicKey] }), alice))
  assert.notDeepEqual([await shown(application), await shown(receiver)], before)
  const [own, other] = [await shown(`${application}?round=${round}`), await shown(`${receiver}?round=${round}`)]
  assert.deepEqual([own[0], other], [before[0]![0], before[1]])
  // As on an indexer, an asset that was created later is shown without an amount.
  assert.deepEqual(own[1], [0])
})

test('a box that does not exist is told apart from an application that does not', async () => {
  const { node, first } = await setUp()
  const messageOf = async (id: bigint) => (await node.ask(`/v2/applications/${id}/box?name=str:x`)).json.message
  assert.equal(await messageOf(first), `no application boxes found: round=2, appid=${first}, boxName=str:x`)
  assert.equal(await messageOf(5n), 'no application found for application-id: round=2, appid=5, boxName=str:x')
})
