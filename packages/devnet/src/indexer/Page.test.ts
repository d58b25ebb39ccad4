import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SortedList } from '../ledger/SortedList.js'
import { Page, scan } from './Page.js'
import { Turns } from './Turns.js'

test('a page ends at its count limit or its size limit', () => {
  const page = new Page(2)
  assert.equal(page.add({ a: 1 }), true)
  assert.equal(page.add({ b: 2n ** 64n - 1n }), false)
  assert.equal(
    page.toResponse('results', { 'current-round': 7n }).body,
    '{"current-round":7,"results":[{"a":1},{"b":18446744073709551615}]}\n',
  )
  const large = new Page(10_000)
  let count = 1
  while (large.add('x'.repeat(1024 * 1024))) count++
  assert.equal(count, 16)
})

test('a scan continues after the last value if the list changes while it pauses', async () => {
  const list = new SortedList<bigint>()
  for (let value = 1n; value <= 10n; value++) list.add(value * 10n)
  const taken: bigint[] = []
  await new Turns().run((slice) =>
    scan(list, 10n, slice, (value) => {
      taken.push(value)
      // Uses up its time, so that it pauses after every value.
      while (!slice.isOver);
      if (value === 50n) {
        list.delete(30n)
        list.delete(60n)
        list.add(55n)
      }
      return value < 90n
    }),
  )
  assert.deepEqual(taken, [20n, 30n, 40n, 50n, 55n, 70n, 80n, 90n])
})
