import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SortedList } from './SortedList.js'

function contents<T extends string | bigint>(list: SortedList<T>): T[] {
  return Array.from({ length: list.size }, (_, index) => list.at(index)!)
}

test('the values are in order, regardless of how they were added', () => {
  const list = new SortedList<bigint>()
  for (const value of [5n, 1n, 9n, 3n]) list.add(value)
  assert.deepEqual(contents(list), [1n, 3n, 5n, 9n])
  list.add(4n)
  list.add(10n)
  assert.deepEqual(contents(list), [1n, 3n, 4n, 5n, 9n, 10n])
})

test('equals a sorted array, over many additions and deletions', () => {
  let seed = 1
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const list = new SortedList<bigint>()
  const expected = new Set<bigint>()
  for (let step = 0; step < 20_000; step++) {
    const value = BigInt(random(10_000))
    if (!expected.has(value)) {
      expected.add(value)
      list.add(value)
    } else if (random(20) === 0) {
      expected.delete(value)
      list.delete(value)
    }
  }
  assert.deepEqual(
    contents(list),
    [...expected].sort((a, b) => (a < b ? -1 : 1)),
  )
})

test('finds the first value after another one, which need not be in the list', () => {
  const list = new SortedList<string>()
  for (const value of ['b', 'd', 'a']) list.add(value)
  assert.deepEqual(
    [undefined, '', 'a', 'c', 'd', 'z'].map((value) => list.at(list.indexAfter(value))),
    ['a', 'a', 'b', 'd', undefined, undefined],
  )
})

test('deleting an absent value changes nothing', () => {
  const list = new SortedList<string>()
  list.add('a')
  list.delete('b')
  assert.deepEqual(contents(list), ['a'])
})
