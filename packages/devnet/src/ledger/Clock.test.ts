import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Clock, initialClock, latestTimestamp } from './Ledger.js'

function setUp() {
  let now = 0
  const clock = new Clock(() => now * 1000 + 999)
  return {
    clock,
    set: (seconds: number) => {
      now = seconds
    },
    /** The timestamp of the next block. */
    make: (previous: bigint): bigint => {
      const { timestamp, state } = clock.next(previous)
      clock.state = state
      return timestamp
    },
  }
}

test("follows the machine's clock, never back and at most 25 s ahead", () => {
  const { set, make } = setUp()
  set(1000)
  assert.equal(make(990n), 1000n)
  assert.equal(make(1000n), 1000n)
  assert.equal(make(1005n), 1005n)
  assert.equal(make(975n), 1000n)
  assert.equal(make(974n), 999n)
  assert.equal(make(10n), 35n)
})

test('the first block after genesis has the current time', () => {
  const { set, make } = setUp()
  set(1_000_000)
  assert.equal(make(0n), 1_000_000n)
})

test('with an offset, blocks are exactly that far apart', () => {
  const { clock, set, make } = setUp()
  set(1000)
  clock.state = { ...initialClock, offsetSeconds: 86_400n }
  assert.deepEqual([make(5n), make(5n)], [86_405n, 86_405n])
  clock.state = { ...initialClock, offsetSeconds: 0n }
  assert.equal(make(5n), 5n)
})

test('a set time is that of the next block, and the clock continues from there', () => {
  const { clock, set, make } = setUp()
  set(1000)
  clock.state = { ...initialClock, offsetSeconds: 5n }
  clock.state = clock.stateAt(50_000n)
  assert.equal(make(1000n), 50_000n)
  set(1010)
  assert.equal(make(50_000n), 50_010n)
  clock.state = clock.stateAt(60_000n)
  assert.equal(make(50_010n), 60_000n)
  set(1012)
  assert.equal(make(60_000n), 60_002n)
})

test('computing the next timestamp changes nothing', () => {
  const { clock } = setUp()
  clock.state = clock.stateAt(77n)
  assert.deepEqual(clock.next(5n), clock.next(5n))
})

test('limits timestamps to signed 64-bit integers', () => {
  const { clock, make } = setUp()
  clock.state = { ...initialClock, offsetSeconds: latestTimestamp }
  assert.equal(make(5n), latestTimestamp)
})
