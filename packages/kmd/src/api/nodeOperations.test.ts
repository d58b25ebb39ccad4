import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlgodError } from '@latchkey/algod'
import { Address, Network } from '@latchkey/algorand'
import { createApp, parametersOf, quietNode, unusedNode } from '../testing/TestApp.test.helper.js'
import type { NodeClient } from './NodeClient.js'

const alice = Address.encode(new Uint8Array(32).fill(1))
const bob = Address.encode(new Uint8Array(32).fill(2))
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const noNode = 'no node is set: start the daemon with --node URL, or set "algod" in kmd_config.json'

const genesisHash = new Uint8Array(32).fill(9)

const node: NodeClient = {
  ...quietNode,
  parameters: async () => parametersOf(genesisHash, { genesisId: 'dev-v1', lastRound: 12n }),
  accountWithHoldings: async (address) => ({
    microAlgos: 2n ** 64n - 1n,
    minBalance: 100_000n,
    authAddress: address === alice ? bob : undefined,
    holdings: address === alice ? [{ assetId: 2n ** 60n, amount: 2n ** 63n, isFrozen: true }] : [],
    holdingCount: address === alice ? 3 : 0,
  }),
  asset: async () => ({ decimals: 6, unitName: 'USDC' }),
  transaction: async (id) => {
    if (id.startsWith('A')) return { type: 'confirmed', round: 7n }
    return id.startsWith('D') ? { type: 'dropped', reason: 'overspend' } : { type: 'unknown' }
  },
}

const fail = () => Promise.reject(new AlgodError('unreachable', 'the node at http://n cannot be reached'))
const down: NodeClient = { ...unusedNode, parameters: fail, accountWithHoldings: fail, asset: fail, transaction: fail }

test('GetNode returns the network of the node', async (t) => {
  const app = createApp(t, { wire: 'documented', node })
  const response = await app.request('GET', '/latchkey/v1/node')
  assert.deepEqual(response.json, {
    ...{
      error: false,
      message: '',
      is_set: true,
      is_reachable: true,
      genesis_id: 'dev-v1',
      genesis_hash: base64(genesisHash),
    },
    ...{ network: 'local', last_round: 12, has_faucet: false, usdc_asset_ids: [] },
  })
  assert.equal(response.text.match(/"message"/g)?.length, 1)
  for (const { name, genesisHash: hash, genesisId } of Network.known) {
    const parameters = async () => parametersOf(Buffer.from(hash, 'base64'), { genesisId })
    const known = createApp(t, { node: { ...node, parameters } })
    assert.equal((await known.request('GET', '/latchkey/v1/node')).json.network, name)
  }
})

test('GetNode reports that no node is set, and why a node is unreachable', async (t) => {
  const blank = { genesis_id: '', genesis_hash: '', network: '', last_round: 0, has_faucet: false, usdc_asset_ids: [] }
  const none = createApp(t, { wire: 'documented' })
  const unset = (await none.request('GET', '/latchkey/v1/node')).json
  assert.deepEqual(unset, { error: false, message: noNode, is_set: false, is_reachable: false, ...blank })
  const app = createApp(t, { wire: 'documented', node: down })
  const message =
    'the node at http://n cannot be reached. Check that the node is running and that the address is right.'
  const unreachable = (await app.request('GET', '/latchkey/v1/node')).json
  assert.deepEqual(unreachable, { error: false, message, is_set: true, is_reachable: false, ...blank })
  const reference = createApp(t, { node: down })
  assert.deepEqual((await reference.request('GET', '/latchkey/v1/node')).json, { is_set: true, message })
})

test('GetAccounts returns amounts as text', async (t) => {
  const app = createApp(t, { node })
  const { json } = await app.post('/latchkey/v1/accounts', { addresses: [alice, bob] })
  const algos = { micro_algos: '18446744073709551615', min_micro_algos: '100000' }
  const usdc = { asset_id: '1152921504606846976', amount: '9223372036854775808', decimals: 6, unit_name: 'USDC' }
  assert.deepEqual(json.accounts, [
    { address: alice, ...algos, rekeyed_to: bob, assets: [{ ...usdc, is_frozen: true }], assets_left_out: 2 },
    { address: bob, ...algos, rekeyed_to: '', assets: [], assets_left_out: 0 },
  ])
})

test('FindTransactions returns states in the order of the request', async (t) => {
  const app = createApp(t, { node })
  const [known, other, dropped] = ['A'.repeat(52), 'B'.repeat(52), 'D'.repeat(52)]
  const { json } = await app.post('/latchkey/v1/transactions', { transaction_ids: [other, known, dropped] })
  assert.deepEqual(json.transactions, [
    { transaction_id: other, state: 'unknown', round: 0 },
    { transaction_id: known, state: 'confirmed', round: 7 },
    { transaction_id: dropped, state: 'unknown', round: 0 },
  ])
})

test('an unreachable node fails GetAccounts and FindTransactions, and is not logged', async (t) => {
  const message =
    'the node at http://n cannot be reached. Check that the node is running and that the address is right.'
  for (const [app, expected] of [
    [createApp(t), noNode],
    [createApp(t, { node: down }), message],
    [createApp(t, { node: { ...node, asset: down.asset, transaction: down.transaction } }), message],
  ] as const) {
    for (const [path, body] of [
      ['accounts', { addresses: [alice] }],
      ['transactions', { transaction_ids: ['A'.repeat(52)] }],
    ] as const) {
      const { status, json } = await app.post(`/latchkey/v1/${path}`, body)
      assert.deepEqual([status, json], [503, { error: true, message: expected }], path)
    }
    assert.deepEqual(app.failures, [])
  }
})

test('requests up to the limits are served', async (t) => {
  const app = createApp(t, { node })
  const accounts = await app.post('/latchkey/v1/accounts', { addresses: Array(100).fill(bob) })
  const transactions = await app.post('/latchkey/v1/transactions', { transaction_ids: Array(50).fill('B'.repeat(52)) })
  assert.deepEqual([accounts.json.accounts.length, transactions.json.transactions.length], [100, 50])
})
