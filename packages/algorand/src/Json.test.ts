import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as Json from './Json.js'
import '../../../test/seed.mjs'

test('integers beyond 2^53 are exact', () => {
  assert.deepEqual(Json.parse('{"a":18446744073709551615,"b":[-9007199254740993,9007199254740993]}'), {
    a: 18446744073709551615n,
    b: [-9007199254740993n, 9007199254740993n],
  })
})

test('integers that a number holds stay numbers, including those of 16 digits', () => {
  assert.deepEqual(Json.parse('[1, 9007199254740991, 1234567890123456]'), [1, 9007199254740991, 1234567890123456])
})

test('fractions and exponents stay numbers', () => {
  const text = '[1234567890123456789.5, 1e30, 0.1234567890123456789]'
  assert.deepEqual(Json.parse(text), JSON.parse(text))
})

test('digits inside strings and names are unchanged', () => {
  const text = '{"18446744073709551615":"18446744073709551615","x\\"1844674407370955161599":1}'
  assert.deepEqual(Json.parse(text), JSON.parse(text))
})

test('strings that look like the internal mark stay strings', () => {
  for (const string of ['\u000118446744073709551615', '\u0001\u00011', '\u0001']) {
    const value = { [string]: string, n: [string] }
    assert.deepEqual(Json.parse(`[${JSON.stringify(value)},18446744073709551615]`), [value, 18446744073709551615n])
  }
})

test('agrees with JSON.parse on everything without long integers', () => {
  fc.assert(
    fc.property(fc.json(), fc.string(), (text, padding) => {
      const long = `[${text},${JSON.stringify(padding)},99999999999999999999]`
      const [value, string, integer] = Json.parse(long) as unknown[]
      assert.equal(integer, 99999999999999999999n)
      assert.equal(string, padding)
      assert.deepEqual(value, Json.parse(text))
    }),
  )
})

test('throws SyntaxError for text that is not JSON or is nested too deeply', () => {
  assert.throws(() => Json.parse('{"a":18446744073709551615'), SyntaxError)
  assert.throws(() => Json.parse('['.repeat(1_000_000)), SyntaxError)
})

test('uint64 accepts exactly the 64-bit integers', () => {
  assert.equal(Json.uint64(5), 5n)
  assert.equal(Json.uint64(2n ** 64n - 1n), 2n ** 64n - 1n)
  for (const wrong of [-1, 1.5, 2n ** 64n, -1n, '5', null, undefined, 2 ** 53])
    assert.equal(Json.uint64(wrong), undefined)
})

test('isObject is false for arrays and null', () => {
  assert.ok(Json.isObject({}))
  for (const wrong of [[], null, 'x', 1, undefined]) assert.ok(!Json.isObject(wrong))
})

test('an integer of millions of digits stays a number that no reader accepts, and is not converted', () => {
  const value = Json.parse(`{"round":${'9'.repeat(1_000_000)}}`) as { round: unknown }
  assert.equal(typeof value.round, 'number')
  assert.equal(Json.uint64(value.round), undefined)
})

test('a member called __proto__ is an ordinary member', () => {
  const value = Json.parse('{"__proto__":18446744073709551615,"a":{"__proto__":{"b":18446744073709551615}}}') as object
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.deepEqual(Object.entries(value)[0], ['__proto__', 18446744073709551615n])
})
