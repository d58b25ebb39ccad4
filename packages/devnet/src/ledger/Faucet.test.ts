import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAsset, give, personOf, sign, TestNode } from '../testing/TestNode.test.helper.js'
import * as Genesis from './Genesis.js'
import { LedgerError } from './LedgerError.js'

const ghost = personOf(15)
const [dollar] = Genesis.dollarIds as [bigint, bigint]

test('Algos come from the dispenser', () => {
  const node = new TestNode()
  const before = node.ledger.state.account(node.dispenser.key).microAlgos
  give(node, ghost, 100_000n)
  assert.equal(node.ledger.state.account(ghost.key).microAlgos, 100_000n)
  assert.equal(node.ledger.state.account(node.dispenser.key).microAlgos, before - 100_000n)
})

test('assets come from their maker, with the opt-in and the Algos that takes', () => {
  const node = new TestNode()
  const { state } = node.ledger
  const before = state.holding(node.dispenser.key, dollar)!.amount
  give(node, ghost, 0n, [{ assetId: dollar, amount: 7n }])
  assert.deepEqual(state.holding(ghost.key, dollar), { amount: 7n, frozen: false })
  assert.equal(state.holding(node.dispenser.key, dollar)!.amount, before - 7n)
  assert.deepEqual([state.account(ghost.key).microAlgos, state.account(ghost.key).assetsHeld], [200_000n, 1])
  give(node, ghost, 0n, [{ assetId: dollar, amount: 1n }])
  assert.deepEqual([state.holding(ghost.key, dollar)!.amount, state.account(ghost.key).microAlgos], [8n, 200_000n])
})

test('freezing is no hindrance, and stays', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const asset = await createAsset(node, alice, { t: 10n, df: true })
  give(node, ghost, 0n, [{ assetId: asset, amount: 3n }])
  assert.deepEqual(node.ledger.state.holding(ghost.key, asset), { amount: 3n, frozen: true })
})

test('what cannot be given changes nothing', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const asset = await createAsset(node, alice, { t: 10n })
  const before = structuredClone(node.ledger.snapshot())
  const refused = [
    () => give(node, ghost, 99_999n),
    () => give(node, ghost, 10n ** 17n),
    () => give(node, ghost, 0n, [{ assetId: 5n, amount: 0n }]),
    () => give(node, ghost, 0n, [{ assetId: asset, amount: 11n }]),
    () => give(node, ghost, node.ledger.state.account(node.dispenser.key).microAlgos),
  ]
  for (const funding of refused) assert.throws(funding, LedgerError)
  assert.deepEqual(structuredClone(node.ledger.snapshot()), before)
})

test('groups that wait for a block are taken again on top of it', async () => {
  const node = new TestNode({ blocks: 'manual' })
  give(node, ghost, 300_000n)
  await node.send(sign(node.pay(ghost, node.funded(0), 150_000n), ghost))
  give(node, ghost, 1_000n)
  assert.equal(node.ledger.pendingGroups().length, 1)
  node.node.mine(1)
  assert.equal(node.ledger.state.account(ghost.key).microAlgos, 150_000n)
})
