import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeInteger, encodeInteger } from '../evaluator/Value.js'
import * as Words from './words.js'
import '../../../../test/seed.mjs'

/** Byte strings at any offset of their buffer, short and long ones. */
const bytes = fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.nat(9)).map(([all, start]) => all.subarray(start))

test('word by word, the results are those of byte by byte', () => {
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      assert.deepEqual(
        [...Words.complement(a)],
        [...a].map((byte) => byte ^ 0xff),
      )
      const length = Math.max(a.length, b.length)
      const padded = (one: Uint8Array) => [...new Array<number>(length - one.length).fill(0), ...one]
      const expected = padded(a).map((byte, index) => byte ^ padded(b)[index]!)
      assert.deepEqual([...Words.combine(a, b, (one, other) => one ^ other)], expected)
    }),
  )
})

test('finds the first byte that is not zero', () => {
  for (const length of [0, 1, 127, 128, 131, 4096]) {
    assert.equal(Words.firstNonZero(new Uint8Array(length)), length)
    for (const index of [0, 1, 126, 127, 128, 130, 4095].filter((one) => one < length)) {
      const changed = new Uint8Array(length)
      changed[index] = 1
      assert.equal(Words.firstNonZero(changed), index)
    }
  }
})

test('numbers of any length are read and written', () => {
  fc.assert(
    fc.property(bytes, (one) => {
      const hex = Buffer.from(one).toString('hex')
      const number = hex === '' ? 0n : BigInt(`0x${hex}`)
      assert.equal(decodeInteger(one), number)
      assert.equal(Buffer.from(encodeInteger(number, one.length)).toString('hex'), hex)
      const shortest = Buffer.from(encodeInteger(number))
      assert.equal(shortest.toString('hex'), hex.replace(/^(00)+/, ''))
    }),
  )
})
