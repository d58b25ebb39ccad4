import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from './Block.js'
import { History } from './History.js'

const empty = new Uint8Array(0)

/** A block of `bytes` bytes, with a transaction named after its round. */
function block(round: bigint, bytes = 10): Block {
  const transactions = round === 0n ? [] : [{ key: `t${round}`, signed: new Uint8Array(bytes - 5), outcome: {} }]
  return {
    round,
    timestamp: 0n,
    hash: empty,
    hash512: empty,
    header: new Uint8Array(5),
    load: { load: 0n, tax: 0n },
    transactions,
  }
}

function filled(limits: { blocks: number; bytes: number }, rounds: bigint): History {
  const history = new History(limits, block(0n))
  for (let round = 1n; round <= rounds; round++) history.add(block(round))
  return history
}

const roundsOf = (history: History): bigint[] => history.blocks().map(({ round }) => round)

test('finds transactions in their blocks', () => {
  const history = filled({ blocks: 100, bytes: 10_000 }, 3n)
  assert.equal(history.last.round, 3n)
  assert.deepEqual(history.find('t2'), { block: history.block(2n), transaction: history.block(2n)!.transactions[0] })
  assert.equal(history.find('t4'), undefined)
})

test('drops the oldest blocks beyond the number limit, with their transactions', () => {
  const history = filled({ blocks: 3, bytes: 10_000 }, 5n)
  assert.deepEqual(roundsOf(history), [3n, 4n, 5n])
  assert.deepEqual([history.find('t2'), history.block(2n)], [undefined, undefined])
  assert.ok(history.find('t3'))
})

test('drops the oldest blocks beyond the size limit, but never the last', () => {
  const history = filled({ blocks: 100, bytes: 30 }, 5n)
  assert.deepEqual(roundsOf(history), [3n, 4n, 5n])
  history.add(block(6n, 1000))
  assert.deepEqual(roundsOf(history), [6n])
  history.add(block(7n))
  assert.deepEqual(roundsOf(history), [7n])
})

test('finds a transaction only in the last 1000 rounds', () => {
  const history = filled({ blocks: 5000, bytes: 1_000_000 }, 1001n)
  assert.ok(history.find('t1'))
  history.add(block(1002n))
  assert.equal(history.find('t1'), undefined)
  assert.ok(history.find('t2'))
  assert.ok(history.block(1n))
})

test('restore drops later blocks', () => {
  const history = filled({ blocks: 3, bytes: 10_000 }, 4n)
  const kept = history.blocks()
  for (let round = 5n; round <= 9n; round++) history.add(block(round))
  history.restore(kept)
  assert.deepEqual([roundsOf(history), history.last.round, history.find('t5')], [[2n, 3n, 4n], 4n, undefined])
  history.add(block(5n))
  assert.deepEqual(roundsOf(history), [3n, 4n, 5n])
})
