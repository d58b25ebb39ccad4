import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundsProblem, canonicalJson, digestOf } from './ToolMessage.js'

const bounds = { maxBytes: 1_000, maxDepth: 5, maxCount: 20 }

test('a value within the limits has no problem', () => {
  for (const value of [null, 1, 'x', true, [], {}, { a: [1, { b: 'c' }], d: undefined }, [[[[1]]]]]) {
    assert.equal(boundsProblem(value, bounds), undefined)
  }
})

test('bytes, depth and parts are limited, including member names', () => {
  assert.match(boundsProblem('x'.repeat(1_000), bounds)!, /1000 bytes/)
  assert.match(boundsProblem({ ['x'.repeat(1_000)]: 1 }, bounds)!, /1000 bytes/)
  assert.match(boundsProblem([[[[[[1]]]]]], bounds)!, /5 deep/)
  assert.match(boundsProblem(Array.from({ length: 20 }), bounds)!, /20 parts/)
  assert.match(boundsProblem([Array.from({ length: 10 }), Array.from({ length: 10 })], bounds)!, /20 parts/)
})

test('a value that JSON cannot represent is a problem', () => {
  for (const value of [() => 1, 1n, Symbol('x'), { a: [() => 1] }]) {
    assert.match(boundsProblem(value, bounds)!, /not JSON/)
  }
})

test('a value of any depth is checked without exhausting the stack', () => {
  let deep: unknown = 1
  for (let level = 0; level < 1_000_000; level++) deep = [deep]
  assert.match(boundsProblem(deep, { ...bounds, maxCount: 10_000_000, maxBytes: 100_000_000 })!, /5 deep/)
})

test('the same arguments have the same digest, in any member order', () => {
  const [one, other] = [
    { a: 1, b: { c: [1, 2], d: null } },
    { b: { d: null, c: [1, 2] }, a: 1 },
  ]
  assert.equal(canonicalJson(one), '{"a":1,"b":{"c":[1,2],"d":null}}')
  assert.equal(digestOf(one), digestOf(other))
  for (const different of [{}, [], { ...one, a: '1' }, { ...one, b: { c: [2, 1], d: null } }, { ...one, e: 1 }]) {
    assert.notEqual(digestOf(different), digestOf(one))
  }
  assert.notEqual(digestOf({ n: 1n }), digestOf({ n: 2n }))
  assert.equal(digestOf(undefined), digestOf(null))
})

test('arguments that a schema transformed have different digests', () => {
  const different = [
    new Set([1]),
    new Set([2]),
    new Map([['a', 1]]),
    new Map([['a', 2]]),
    new Date(1),
    new Date(2),
    new URL('http://a.example'),
    new URL('http://b.example'),
    new Uint8Array([1]),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
  ].map((value) => digestOf({ value }))
  assert.equal(new Set(different).size, different.length)
  class Hidden {
    readonly #value: number
    constructor(value: number) {
      this.#value = value
    }
    get value(): number {
      return this.#value
    }
  }
  assert.throws(() => digestOf({ value: new Hidden(1) }), { code: 'invalid_tool_option', message: /Hidden/ })
})
