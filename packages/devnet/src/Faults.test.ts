import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Faults, maxFaults } from './Faults.js'

test('a fault is used count times, the oldest of its type first', () => {
  const faults = new Faults()
  assert.equal(faults.take('drop'), undefined)
  faults.add({ type: 'delay', ms: 1, count: 2 })
  faults.add({ type: 'drop', count: 1 })
  faults.add({ type: 'delay', ms: 2, count: 1 })
  assert.deepEqual(
    [1, 2, 3, 4].map(() => faults.take('delay')?.ms),
    [1, 1, 2, undefined],
  )
  assert.deepEqual(faults.list(), [{ type: 'drop', count: 1 }])
  assert.equal(faults.take('lose'), undefined)
  assert.equal(faults.take('hold'), undefined)
  faults.add({ type: 'hold', ms: 0, count: 1 })
  assert.deepEqual(faults.take('hold'), { type: 'hold', ms: 0, count: 1 })
})

test('a returned list does not change when faults are used', () => {
  const faults = new Faults()
  const given = { type: 'drop', count: 2 } as const
  faults.add(given)
  const [listed] = faults.list()
  faults.take('drop')
  assert.deepEqual(
    [listed, given],
    [
      { type: 'drop', count: 2 },
      { type: 'drop', count: 2 },
    ],
  )
})

test('limits the number of pending faults', () => {
  const faults = new Faults()
  for (let count = 0; count < maxFaults; count++) faults.add({ type: 'lose', count: 1 })
  assert.throws(() => faults.add({ type: 'lose', count: 1 }), {
    name: 'DevnetError',
    code: 'too_many_faults',
    message: '100 faults are already pending',
  })
  faults.clear()
  assert.deepEqual(faults.list(), [])
})
