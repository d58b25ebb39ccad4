import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAsset, fund, personOf, sign, TestNode } from '../testing/TestNode.test.helper.js'
import * as Genesis from './Genesis.js'
import { LedgerError } from './LedgerError.js'

const ghost = personOf(15)
const [dollar] = Genesis.dollarIds as [bigint, bigint]

test('Algos come from the faucet account', () => {
  const node = new TestNode()
  const before = node.ledger.state.account(node.faucet.key).microAlgos
  fund(node, ghost, 100_000n)
  assert.equal(node.ledger.state.account(ghost.key).microAlgos, 100_000n)
  assert.equal(node.ledger.state.account(node.faucet.key).microAlgos, before - 100_000n)
})

test('assets come from their creator, with the opt-in and its minimum balance', () => {
  const node = new TestNode()
  const { state } = node.ledger
  const before = state.holding(node.faucet.key, dollar)!.amount
  fund(node, ghost, 0n, [{ assetId: dollar, amount: 7n }])
  assert.deepEqual(state.holding(ghost.key, dollar), { amount: 7n, frozen: false })
  assert.equal(state.holding(node.faucet.key, dollar)!.amount, before - 7n)
  assert.deepEqual([state.account(ghost.key).microAlgos, state.account(ghost.key).assetsHeld], [200_000n, 1])
  fund(node, ghost, 0n, [{ assetId: dollar, amount: 1n }])
  assert.deepEqual([state.holding(ghost.key, dollar)!.amount, state.account(ghost.key).microAlgos], [8n, 200_000n])
})

test('funds frozen holdings, which stay frozen', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const asset = await createAsset(node, alice, { t: 10n, df: true })
  fund(node, ghost, 0n, [{ assetId: asset, amount: 3n }])
  assert.deepEqual(node.ledger.state.holding(ghost.key, asset), { amount: 3n, frozen: true })
})

test('a rejected funding changes nothing', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const asset = await createAsset(node, alice, { t: 10n })
  const before = structuredClone(node.ledger.snapshot())
  const rejected = [
    () => fund(node, ghost, 99_999n),
    () => fund(node, ghost, 10n ** 17n),
    () => fund(node, ghost, 0n, [{ assetId: 5n, amount: 0n }]),
    () => fund(node, ghost, 0n, [{ assetId: asset, amount: 11n }]),
    () => fund(node, ghost, node.ledger.state.account(node.faucet.key).microAlgos),
  ]
  for (const funding of rejected) assert.throws(funding, LedgerError)
  assert.deepEqual(structuredClone(node.ledger.snapshot()), before)
})

test('pending groups are evaluated again after a funding', async () => {
  const node = new TestNode({ blocks: 'manual' })
  fund(node, ghost, 300_000n)
  await node.send(sign(node.pay(ghost, node.funded(0), 150_000n), ghost))
  fund(node, ghost, 1_000n)
  assert.equal(node.ledger.pendingGroups().length, 1)
  node.node.mine(1)
  assert.equal(node.ledger.state.account(ghost.key).microAlgos, 150_000n)
})
