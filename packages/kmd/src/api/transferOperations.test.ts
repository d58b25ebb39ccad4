import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlgodError } from '@latchkey/algod'
import { Address, Bytes, Network, SignedTransaction, Transaction } from '@latchkey/algorand'
import { createApp, parametersOf, quietNode, unusedNode } from '../testing/TestApp.test.helper.js'
import type { NodeClient } from './NodeClient.js'

const [alice, bob] = [1, 2].map((byte) => Address.encode(new Uint8Array(32).fill(byte))) as [string, string]
const genesisHash = new Uint8Array(32).fill(9)
const usdc = { decimals: 6, unitName: 'USDC', name: 'Dollar', creator: bob, isFrozenByDefault: true }

const devnet: NodeClient = {
  ...unusedNode,
  parameters: async () => parametersOf(genesisHash, { lastRound: 12n }),
  account: async (address) => ({
    ...{ microAlgos: 1n, minBalance: 0n },
    authAddress: address === alice ? bob : undefined,
  }),
  holding: async (address) => (address === alice ? { amount: 2n ** 63n, isFrozen: true } : undefined),
  asset: async (id) => (id === 7n ? usdc : undefined),
  devnet: async () => ({ genesisHash, dollarAssetIds: [7n] }),
  fund: async () => ({ microAlgos: 5_000_000n, round: 13n }),
}

const payment = { type: 'pay', snd: Address.decode(alice), rcv: Address.decode(bob), amt: 5n, fee: 1000n }
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

test('parameters, assets and holdings have amounts as text', async (t) => {
  const app = createApp(t, { node: devnet })
  const { json: parameters } = await app.request('GET', '/latchkey/v1/transaction/parameters')
  assert.deepEqual(parameters, {
    ...{ genesis_id: 'test-v1', genesis_hash: base64(genesisHash), last_round: 12 },
    ...{ min_fee_micro_algos: '1000', fee_per_byte_micro_algos: '0' },
  })
  const { json: assets } = await app.post('/latchkey/v1/assets', { asset_ids: ['7', '8'] })
  const names = { unit_name: 'USDC', name: 'Dollar', creator: bob, is_frozen_by_default: true }
  assert.deepEqual(assets.assets[0], { asset_id: '7', exists: true, decimals: 6, ...names })
  assert.deepEqual([assets.assets[1].asset_id, assets.assets[1].exists], ['8', false])
  const { json: holdings } = await app.post('/latchkey/v1/holdings', { asset_id: '7', addresses: [alice, bob] })
  assert.deepEqual(holdings.holdings, [
    { address: alice, is_opted_in: true, amount: '9223372036854775808', is_frozen: true },
    { address: bob, is_opted_in: false, amount: '0', is_frozen: false },
  ])
})

test('invalid ids, amounts and addresses are rejected before the node is asked', async (t) => {
  const app = createApp(t, { node: unusedNode })
  for (const id of ['', '0', '-1', '1.5', 'x', '18446744073709551616', '9'.repeat(21)]) {
    for (const [path, body] of [
      ['assets', { asset_ids: [id] }],
      ['holdings', { asset_id: id, addresses: [alice] }],
    ] as const) {
      const { status, headers } = await app.post(`/latchkey/v1/${path}`, body)
      assert.deepEqual([status, headers.get('latchkey-error')], [400, 'bad_asset_id'], `${path} ${id}`)
    }
  }
  for (const micro_algos of ['-1', '1.5', 'x', '18446744073709551616']) {
    const { headers } = await app.post('/latchkey/v1/devnet/fund', { address: alice, micro_algos })
    assert.equal(headers.get('latchkey-error'), 'bad_amount', micro_algos)
  }
  const tooMany = await app.post('/latchkey/v1/assets', { asset_ids: Array(51).fill('7') })
  assert.equal(tooMany.headers.get('latchkey-error'), 'too_many_asset_ids')
  const bad = await app.post('/latchkey/v1/holdings', { asset_id: '7', addresses: [alice, 'nobody'] })
  assert.equal(bad.headers.get('latchkey-error'), 'bad_address')
})

test('a simulation names the key that signs for a rekeyed sender, and explains a failure', async (t) => {
  const simulated: Uint8Array[][] = []
  const node: NodeClient = {
    ...devnet,
    simulate: async (group) => {
      simulated.push([...group])
      return simulated.length === 1 ? undefined : { message: 'overspend', code: 'other', failedAt: 0 }
    },
  }
  const app = createApp(t, { node })
  const transaction = base64(Transaction.encode(payment))
  const { json: first } = await app.post('/latchkey/v1/transaction/simulate', { transaction })
  assert.equal(first.is_accepted, true)
  const { sgnr, sig } = SignedTransaction.decode(simulated[0]![0]!)
  assert.deepEqual([Address.encode(sgnr!), sig], [bob, undefined])
  const { json: second } = await app.post('/latchkey/v1/transaction/simulate', { transaction })
  assert.deepEqual(
    [second.is_accepted ?? false, second.reason, second.explanation],
    [false, 'overspend', 'The account does not have enough ALGO.'],
  )
  assert.equal((await app.post('/latchkey/v1/transaction/simulate', { transaction: 'AAAA' })).status, 400)
})

test("the faucet is a devnet's, which identifies itself", async (t) => {
  const funded: object[] = []
  const node: NodeClient = {
    ...devnet,
    fund: async (funding) => {
      funded.push(funding)
      return { microAlgos: 5_000_000n, round: 13n }
    },
  }
  const app = createApp(t, { node })
  const body = { address: alice, micro_algos: '5000000', asset_id: '7', amount: '3' }
  const { json } = await app.post('/latchkey/v1/devnet/fund', body)
  assert.deepEqual(json, { micro_algos: '5000000', round: 13 })
  assert.deepEqual(funded, [{ address: alice, microAlgos: 5_000_000n, asset: { assetId: 7n, amount: 3n } }])
  const found = (await app.request('GET', '/latchkey/v1/node')).json
  assert.deepEqual([found.has_faucet, found.usdc_asset_ids], [true, ['7']])
})

test('no other network has a faucet, and a public one is not even asked', async (t) => {
  const refused = { ...devnet, fund: unusedNode.fund }
  const other = { genesisHash: new Uint8Array(32), dollarAssetIds: [] }
  const nodes: NodeClient[] = [
    ...Network.known.map((network) => ({
      ...refused,
      devnet: unusedNode.devnet,
      parameters: async () => parametersOf(Bytes.fromBase64(network.genesisHash)!),
    })),
    { ...refused, devnet: async () => undefined },
    { ...refused, devnet: async () => other },
    { ...refused, devnet: () => Promise.reject(new AlgodError('refused_token', 'only on this machine')) },
  ]
  for (const node of nodes) {
    const app = createApp(t, { node })
    const { status, headers } = await app.post('/latchkey/v1/devnet/fund', { address: alice, micro_algos: '1' })
    assert.deepEqual([status, headers.get('latchkey-error')], [400, 'no_faucet'])
    const found = (await app.request('GET', '/latchkey/v1/node')).json
    assert.equal(found.has_faucet ?? false, false)
  }
})

test('a devnet is asked once for its identity, and again after its ledger changed or it did not respond', async (t) => {
  let asked = 0
  let hash = genesisHash
  const node: NodeClient = {
    ...quietNode,
    parameters: async () => parametersOf(hash),
    devnet: async () => {
      asked++
      if (asked === 1) throw new AlgodError('timeout', 'late')
      return { genesisHash: hash, dollarAssetIds: [] }
    },
  }
  const app = createApp(t, { node })
  const hasFaucet = async () => (await app.request('GET', '/latchkey/v1/node')).json.has_faucet ?? false
  assert.deepEqual([await hasFaucet(), await hasFaucet(), await hasFaucet(), asked], [false, true, true, 2])
  hash = new Uint8Array(32).fill(8)
  assert.deepEqual([await hasFaucet(), asked], [true, 3])
})

test("the faucet's refusal keeps its reason", async (t) => {
  const fund = () => Promise.reject(new AlgodError('rejected', 'the faucet has no ALGO left'))
  const app = createApp(t, { node: { ...devnet, fund } })
  const { status, headers, json } = await app.post('/latchkey/v1/devnet/fund', { address: alice, micro_algos: '1' })
  assert.deepEqual([status, headers.get('latchkey-error')], [400, 'faucet_refused'])
  assert.match(json.message, /no ALGO left/)
})
