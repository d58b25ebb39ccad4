import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap } from './BoundedMap.js'

test('an entry beyond the limit evicts the oldest', () => {
  const evicted: [number, string][] = []
  const map = new BoundedMap<string, number>(2, (value, key) => evicted.push([value, key]))
  map.set('a', 1).set('b', 2).set('c', 3)
  assert.deepEqual(
    [...map],
    [
      ['b', 2],
      ['c', 3],
    ],
  )
  assert.deepEqual(evicted, [[1, 'a']])
})

test('setting an entry again evicts nothing and keeps its place', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
  assert.deepEqual([...map.keys()], ['b', 'c'])
})

test('touch makes an entry the newest', () => {
  const map = new BoundedMap<string, number | undefined>(2)
  map.set('a', 1).set('b', undefined)
  assert.equal(map.touch('a'), 1)
  assert.equal(map.touch('missing'), undefined)
  map.set('c', 4)
  assert.deepEqual([...map.keys()], ['a', 'c'])
})

test('deleting calls no listener', () => {
  const map = new BoundedMap<string, number>(1, () => assert.fail('called'))
  map.set('a', 1)
  map.delete('a')
  assert.equal(map.size, 0)
})
