import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sign, TestNode } from '../testing/TestNode.test.helper.js'
import { OnlineStake } from './State.js'

const billion = 10n ** 15n

async function stakeOf(node: TestNode): Promise<[string, string]> {
  const { text } = await node.get('/v2/ledger/supply')
  const [, money, stake] = /"online-money":([0-9]+),"online-stake":([0-9]+)/.exec(text)!
  return [money!, stake!]
}

test('a change of the online stake counts for agreement 320 rounds later', async () => {
  const node = new TestNode()
  await node.send(sign(node.txn('keyreg', node.dispenser), node.dispenser))
  // As a node reports it 23 rounds later.
  node.node.mine(23)
  assert.deepEqual(await stakeOf(node), [`${6n * billion}`, `${10n * billion}`])
  node.node.mine(296)
  assert.deepEqual(await stakeOf(node), [`${6n * billion}`, `${10n * billion}`], 'in round 320')
  node.node.mine(1)
  assert.deepEqual(await stakeOf(node), [`${6n * billion}`, `${6n * billion}`], 'in round 321')
  node.node.reset()
  assert.deepEqual(await stakeOf(node), [`${10n * billion}`, `${10n * billion}`])
})

test('keeps as many rounds as agreement looks back', () => {
  const stake = new OnlineStake()
  assert.equal(stake.countedIn(5n), 0n)
  for (let round = 0n; round <= 1_000n; round++) stake.record(round, round)
  assert.deepEqual([stake.countedIn(1_000n), stake.countedIn(1_001n)], [680n, 681n])
  assert.equal(stake.countedIn(900n), 680n, 'the earliest that is known')
  stake.restart(1_000n, 7n)
  assert.equal(stake.countedIn(1_000n), 7n)
  for (let round = 1_001n; round <= 1_320n; round++) stake.record(round, 8n)
  assert.deepEqual([stake.countedIn(1_320n), stake.countedIn(1_321n)], [7n, 8n])
})
