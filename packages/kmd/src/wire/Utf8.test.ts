import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as Utf8 from './Utf8.js'
import '../../../../test/seed.mjs'

const decode = (...bytes: number[]): string => Utf8.decode(Uint8Array.from(bytes))
const bad = Utf8.invalid

test('valid text is decoded unchanged, including a byte order mark', () => {
  for (const text of ['', 'plain', 'grüße', '\u2028', '😀', '\ufeffmarked', '\0', '\ufffd']) {
    assert.equal(Utf8.decode(Buffer.from(text)), text)
  }
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => assert.equal(Utf8.decode(Buffer.from(text)), text)))
})

test('each invalid byte is marked once, and the surrounding text is unchanged', () => {
  assert.equal(decode(0x61, 0xff, 0x62), `a${bad}b`)
  assert.equal(decode(0xff, 0xfe), bad + bad)
  assert.equal(decode(0xc3, 0xbc, 0x80, 0xc3, 0xbc), `ü${bad}ü`)
})

const malformed: { [what: string]: [bytes: number[], marks: number] } = {
  'a lone continuation byte': [[0x80], 1],
  'a sequence that is cut off': [[0xe2, 0x82], 2],
  'an overlong slash': [[0xc0, 0xaf], 2],
  'an overlong character of three bytes': [[0xe0, 0x80, 0xaf], 3],
  'a surrogate': [[0xed, 0xa0, 0x80], 3],
  'a code point beyond the last': [[0xf4, 0x90, 0x80, 0x80], 4],
  'a first byte that never occurs': [[0xf5, 0x80, 0x80, 0x80], 4],
}
for (const [what, [bytes, marks]] of Object.entries(malformed)) {
  test(`${what} is marked byte by byte`, () => {
    assert.equal(decode(...bytes), bad.repeat(marks))
    assert.equal(decode(0x61, ...bytes, 0x62), `a${bad.repeat(marks)}b`)
  })
}

test('any bytes are decoded, and valid text never contains the mark', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const isValid = Buffer.from(Buffer.from(bytes).toString('utf8')).equals(bytes)
      assert.equal(Utf8.decode(bytes).includes(bad), !isValid)
    }),
    { numRuns: 5000 },
  )
})
