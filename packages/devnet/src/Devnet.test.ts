/** Tests the devnet in the process of a test. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Address, Network } from '@latchkey/algorand'
import { createDevnetHandler, Devnet, type DevnetOptions } from './Devnet.js'
import { personOf, sign, TestNode } from './testing/TestNode.test.helper.js'

async function start(t: TestContext, options: DevnetOptions = {}): Promise<Devnet> {
  const devnet = await Devnet.start({ port: 0, accounts: 3, ...options })
  t.after(() => devnet.stop())
  return devnet
}

function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'devnet-test-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Signs as the first of the funded accounts; the genesis is the same as that of `start`. */
const signer = new TestNode()

async function pay(devnet: Devnet, microAlgos: bigint): Promise<Response> {
  const txn = signer.pay(signer.funded(0), personOf(9), microAlgos, { fv: devnet.round, lv: devnet.round + 1000n })
  return fetch(`${devnet.url}/v2/transactions`, { method: 'POST', body: Buffer.from(sign(txn, signer.funded(0))) })
}

async function account(devnet: Devnet, address: string): Promise<{ amount: number; assets: object[] }> {
  return (await (await fetch(`${devnet.url}/v2/accounts/${address}`)).json()) as { amount: number; assets: object[] }
}

test('starts on a free port, serves, and stops', async (t) => {
  const devnet = await start(t)
  assert.match(devnet.url, /^http:\/\/127\.0\.0\.1:[1-9][0-9]*$/)
  assert.equal(devnet.genesisId, 'dockernet-v1')
  assert.equal((await pay(devnet, 200_000n)).status, 200)
  assert.equal(devnet.round, 1n)
  await devnet.stop()
  await devnet.stopped
  await assert.rejects(fetch(`${devnet.url}/health`))
})

test('A15 takes a given genesis hash, which the state file and dumps keep', async (t) => {
  const { genesisHash, genesisId } = Network.testnet
  const stateFile = join(temporaryDirectory(t), 'ledger.log')
  const devnet = await start(t, { genesisHash, stateFile })
  assert.deepEqual([devnet.genesisHash, devnet.genesisId], [genesisHash, genesisId])
  const params = (await (await fetch(`${devnet.url}/v2/transactions/params`)).json()) as { [name: string]: unknown }
  assert.deepEqual([params['genesis-hash'], params['genesis-id']], [genesisHash, genesisId])
  assert.equal((await pay(devnet, 200_000n)).status, 400, 'signed for the hash of the devnet itself')
  const gh = new Uint8Array(Buffer.from(genesisHash, 'base64'))
  const txn = signer.pay(signer.funded(0), personOf(9), 200_000n, { fv: 0n, lv: 1000n, gh, gen: genesisId })
  const body = Buffer.from(sign(txn, signer.funded(0)))
  assert.equal((await fetch(`${devnet.url}/v2/transactions`, { method: 'POST', body })).status, 200)
  const dump = devnet.dump()
  await devnet.stop()

  const again = await start(t, { genesisHash, stateFile })
  assert.equal((await account(again, personOf(9).address)).amount, 200_000)
  await again.stop()
  await assert.rejects(start(t, { stateFile }), { code: 'state_file_network' })
  await assert.rejects(start(t, { genesisHash, stateFile, accounts: 2 }), { code: 'state_file_network' })

  const loaded = await start(t, { genesisHash })
  loaded.load(dump)
  assert.equal((await account(loaded, personOf(9).address)).amount, 200_000)
  const own = await start(t)
  assert.throws(() => own.load(dump), { code: 'dump_network' })
})

test('funds accounts with Algos and dollars, and opts them in', async (t) => {
  const devnet = await start(t)
  const { address } = personOf(7)
  devnet.fund(address, { microDollars: 2_500_000n })
  assert.deepEqual(await account(devnet, address).then(({ amount, assets }) => ({ amount, assets })), {
    amount: 300_000,
    assets: [
      { amount: 2_500_000, 'asset-id': 10458941, 'is-frozen': false },
      { amount: 2_500_000, 'asset-id': 31566704, 'is-frozen': false },
    ],
  })
  devnet.fund(address, { microAlgos: 5n })
  assert.equal((await account(devnet, address)).amount, 300_005)
  const other = personOf(8).address
  devnet.optIn(other, 31566704n)
  assert.equal((await account(devnet, other)).assets.length, 1)
  assert.throws(() => devnet.fund('nonsense', { microAlgos: 1n }), Address.AddressError)
  assert.throws(() => devnet.optIn(other, 5n), /asset 5 does not exist/)
})

test('restores a snapshot, the genesis state and a dump', async (t) => {
  const devnet = await start(t)
  const beginning = devnet.stateHash()
  const snapshot = devnet.snapshot()
  await pay(devnet, 200_000n)
  const paid = devnet.stateHash()
  const dump = devnet.dump()
  assert.notEqual(paid, beginning)
  devnet.revert(snapshot)
  assert.equal(devnet.stateHash(), beginning)
  devnet.load(dump)
  assert.equal(devnet.stateHash(), paid)
  assert.equal(devnet.round, 1n)
  devnet.reset()
  assert.equal(devnet.stateHash(), beginning)
  assert.throws(() => devnet.revert(snapshot), /there is no snapshot/)
})

test('mines, sets the time, and injects faults', async (t) => {
  const devnet = await start(t)
  devnet.mine(3)
  assert.equal(devnet.round, 3n)
  devnet.setTime(4_000_000_000n)
  devnet.mine()
  const { block } = (await (await fetch(`${devnet.url}/v2/blocks/4`)).json()) as { block: { ts: number } }
  assert.equal(block.ts, 4_000_000_000)
  devnet.addFault({ type: 'fail', status: 503, message: 'not now', count: 1 })
  const failed = await pay(devnet, 200_000n)
  assert.deepEqual([failed.status, await failed.json()], [503, { message: 'not now' }])
  assert.equal((await pay(devnet, 200_000n)).status, 200)
})

test('compacts the state file as it grows', async (t) => {
  const stateFile = join(temporaryDirectory(t), 'ledger.log')
  const devnet = await start(t, { stateFile, compactBytes: 20_000, historyBlocks: 10 })
  let largest = 0
  for (let count = 0; count < 200; count++) {
    assert.equal((await pay(devnet, 200_000n + BigInt(count))).status, 200)
    largest = Math.max(largest, statSync(stateFile).size)
  }
  const hash = devnet.stateHash()
  await devnet.stop()
  assert.ok(largest < 80_000, `grew to ${largest} bytes`)
  const again = await start(t, { stateFile, historyBlocks: 10 })
  assert.equal(again.stateHash(), hash)
  assert.equal(again.round, 200n)
})

test('rejects invalid options', async () => {
  await assert.rejects(Devnet.start({ port: 0, accounts: 101 }), { code: 'invalid_option' })
  await assert.rejects(Devnet.start({ port: 0, accounts: 1.5 }), { code: 'invalid_option' })
  await assert.rejects(Devnet.start({ port: 0, blocks: { everyMs: 0 } }), { code: 'invalid_option' })
})

async function indexed(devnet: Devnet, path: string): Promise<{ [name: string]: unknown }> {
  const response = await fetch(`${devnet.indexerUrl}${path}`)
  assert.equal(response.status, 200, path)
  return (await response.json()) as { [name: string]: unknown }
}

test('serves the indexer API on a separate port, and only on request', async (t) => {
  const devnet = await start(t, { indexer: { port: 0 } })
  assert.match(devnet.indexerUrl!, /^http:\/\/127\.0\.0\.1:[1-9][0-9]*$/)
  assert.notEqual(devnet.indexerUrl, devnet.url)
  assert.equal((await pay(devnet, 200_000n)).status, 200)
  assert.equal((await indexed(devnet, '/health'))['round'], 1)
  await devnet.stop()
  await assert.rejects(fetch(`${devnet.indexerUrl}/health`))
  assert.equal((await start(t)).indexerUrl, undefined)
})

test('an indexer port that is in use fails the whole start', async (t) => {
  const first = await start(t, { indexer: { port: 0 } })
  const port = Number(new URL(first.indexerUrl!).port)
  const stateFile = join(temporaryDirectory(t), 'ledger.log')
  await assert.rejects(start(t, { indexer: { port }, stateFile }), { code: 'address_in_use' })
  // Neither the lock of the state file nor the first port is still held.
  await start(t, { stateFile })
})

test('any server can host the indexer API', async () => {
  const handler = await createDevnetHandler({ indexer: true })
  const response = await handler.fetchIndexer!(new Request('http://127.0.0.1/health'))
  assert.equal(response.status, 200)
  await handler.stop()
  const without = await createDevnetHandler()
  assert.equal(without.fetchIndexer, undefined)
  await without.stop()
})

const { address: paid } = personOf(9)
const paths = [
  '/v2/transactions',
  '/v2/accounts?include-all=true',
  '/v2/assets',
  `/v2/accounts/${paid}`,
  '/v2/blocks/1',
]

function allIndexed(devnet: Devnet): Promise<object[]> {
  return Promise.all(paths.map((path) => indexed(devnet, path)))
}

test('a restart with the state file serves the same history, also from a compacted file', async (t) => {
  for (const compactBytes of [undefined, 1]) {
    const stateFile = join(temporaryDirectory(t), 'ledger.log')
    const options = { stateFile, compactBytes, indexer: { port: 0 } }
    const devnet = await start(t, options)
    for (let count = 0; count < 5; count++) assert.equal((await pay(devnet, 200_000n)).status, 200)
    devnet.fund(personOf(8).address, { microDollars: 5n })
    const before = await allIndexed(devnet)
    await devnet.stop()
    const again = await start(t, options)
    assert.deepEqual(await allIndexed(again), before)
    await again.stop()
    // Changes that a devnet without an indexer writes in between are found too.
    const without = await start(t, { stateFile, compactBytes })
    assert.equal((await pay(without, 200_000n)).status, 200)
    await without.stop()
    const last = await start(t, options)
    assert.equal(((await indexed(last, '/v2/transactions'))['transactions'] as object[]).length, 6)
  }
})

test('a dump has the rounds of creation; without them they are omitted', async (t) => {
  const devnet = await start(t, { indexer: { port: 0 } })
  assert.equal((await pay(devnet, 200_000n)).status, 200)
  const loaded = await start(t, { indexer: { port: 0 } })
  loaded.load(devnet.dump())
  assert.deepEqual(await allIndexed(loaded), await allIndexed(devnet))
  assert.equal(loaded.stateHash(), devnet.stateHash())
  const without = await start(t)
  without.load(devnet.dump())
  loaded.load(without.dump())
  const created = async (one: Devnet): Promise<unknown> => {
    const { account } = (await indexed(one, `/v2/accounts/${paid}`)) as { account: { [name: string]: unknown } }
    return account['created-at-round']
  }
  assert.equal(await created(devnet), 1)
  assert.equal(await created(loaded), undefined)
  assert.deepEqual(await indexed(loaded, '/v2/transactions'), await indexed(devnet, '/v2/transactions'))
})

test('an archival devnet keeps all blocks, also after a restart', async (t) => {
  const stateFile = join(temporaryDirectory(t), 'ledger.log')
  const blockOf = async (devnet: Devnet, round: number) => {
    const response = await fetch(`${devnet.url}/v2/blocks/${round}`)
    return response.status === 200 ? response.json() : response.status
  }
  const devnet = await start(t, { archival: true, stateFile })
  assert.equal((await pay(devnet, 200_000n)).status, 200)
  devnet.mine(10_100)
  const first = await blockOf(devnet, 1)
  assert.ok(first instanceof Object)
  await devnet.stop()
  const again = await start(t, { archival: true, stateFile })
  assert.deepEqual(await blockOf(again, 1), first)
  await again.stop()
  const usual = await start(t, { stateFile })
  assert.equal(await blockOf(usual, 1), 404)
})

test('a number of blocks and all blocks cannot both be kept', async () => {
  await assert.rejects(Devnet.start({ port: 0, archival: true, historyBlocks: 5 }), {
    code: 'invalid_option',
    message: 'give archival or historyBlocks, not both',
  })
})
