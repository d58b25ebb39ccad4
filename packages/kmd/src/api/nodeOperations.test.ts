import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Network } from '@latchkey/algorand'
import { NodeError, type Questions } from '../node/Node.js'
import { createApp } from '../testing/TestApp.test.helper.js'

const alice = Address.encode(new Uint8Array(32).fill(1))
const bob = Address.encode(new Uint8Array(32).fill(2))
const noNode = 'no node is set: start the daemon with --node URL, or set "algod" in kmd_config.json'

const questions: Questions = {
  status: async () => ({ genesisId: 'dev-v1', genesisHash: 'hash=', lastRound: 12 }),
  account: async (address) => ({
    microAlgos: 2n ** 64n - 1n,
    minMicroAlgos: 100_000n,
    rekeyedTo: address === alice ? bob : '',
    holdings: address === alice ? [{ assetId: 2n ** 60n, amount: 2n ** 63n, isFrozen: true }] : [],
    holdingCount: address === alice ? 3 : 0,
  }),
  asset: async () => ({ decimals: 6, unitName: 'USDC' }),
  transaction: async (id) => (id.startsWith('A') ? { state: 'confirmed', round: 7 } : { state: 'unknown', round: 0 }),
}

const down: Questions = {
  status: () => Promise.reject(new NodeError('the node at http://n cannot be reached')),
  account: () => Promise.reject(new NodeError('the node at http://n cannot be reached')),
  asset: () => Promise.reject(new NodeError('the node at http://n cannot be reached')),
  transaction: () => Promise.reject(new NodeError('the node at http://n cannot be reached')),
}

test('a node is told of with its network', async (t) => {
  const app = createApp(t, { wire: 'documented', node: questions })
  const answer = await app.request('GET', '/latchkey/v1/node')
  assert.deepEqual(answer.json, {
    ...{ error: false, message: '', is_set: true, is_reachable: true, genesis_id: 'dev-v1', genesis_hash: 'hash=' },
    ...{ network: 'local', last_round: 12 },
  })
  assert.equal(answer.text.match(/"message"/g)?.length, 1)
  for (const { name, genesisHash, genesisId } of Network.known) {
    const node = { ...questions, status: async () => ({ genesisId, genesisHash, lastRound: 1 }) }
    const known = createApp(t, { node })
    assert.equal((await known.request('GET', '/latchkey/v1/node')).json.network, name)
  }
})

test('no node, and one that is down, are said to be so', async (t) => {
  const blank = { genesis_id: '', genesis_hash: '', network: '', last_round: 0 }
  const none = createApp(t, { wire: 'documented' })
  const unset = (await none.request('GET', '/latchkey/v1/node')).json
  assert.deepEqual(unset, { error: false, message: noNode, is_set: false, is_reachable: false, ...blank })
  const app = createApp(t, { wire: 'documented', node: down })
  const message = 'the node at http://n cannot be reached'
  const unreachable = (await app.request('GET', '/latchkey/v1/node')).json
  assert.deepEqual(unreachable, { error: false, message, is_set: true, is_reachable: false, ...blank })
  const reference = createApp(t, { node: down })
  assert.deepEqual((await reference.request('GET', '/latchkey/v1/node')).json, { is_set: true, message })
})

test('accounts are told with amounts as text', async (t) => {
  const app = createApp(t, { node: questions })
  const { json } = await app.post('/latchkey/v1/accounts', { addresses: [alice, bob] })
  const algos = { micro_algos: '18446744073709551615', min_micro_algos: '100000' }
  const usdc = { asset_id: '1152921504606846976', amount: '9223372036854775808', decimals: 6, unit_name: 'USDC' }
  assert.deepEqual(json.accounts, [
    { address: alice, ...algos, rekeyed_to: bob, assets: [{ ...usdc, is_frozen: true }], assets_left_out: 2 },
    { address: bob, ...algos, rekeyed_to: '', assets: [], assets_left_out: 0 },
  ])
})

test('transactions are told in the order they were asked for', async (t) => {
  const app = createApp(t, { node: questions })
  const [known, other] = ['A'.repeat(52), 'B'.repeat(52)]
  const { json } = await app.post('/latchkey/v1/transactions', { transaction_ids: [other, known] })
  assert.deepEqual(json.transactions, [
    { transaction_id: other, state: 'unknown', round: 0 },
    { transaction_id: known, state: 'confirmed', round: 7 },
  ])
})

test('without a node that answers there are no accounts and no transactions, and nothing to log', async (t) => {
  const message = 'the node at http://n cannot be reached'
  for (const [app, expected] of [
    [createApp(t), noNode],
    [createApp(t, { node: down }), message],
    [createApp(t, { node: { ...questions, asset: down.asset, transaction: down.transaction } }), message],
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

test('as many may be asked for at once as the limit says', async (t) => {
  const app = createApp(t, { node: questions })
  const accounts = await app.post('/latchkey/v1/accounts', { addresses: Array(100).fill(bob) })
  const transactions = await app.post('/latchkey/v1/transactions', { transaction_ids: Array(50).fill('B'.repeat(52)) })
  assert.deepEqual([accounts.json.accounts.length, transactions.json.transactions.length], [100, 50])
})
