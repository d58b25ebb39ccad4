import { anyCharacter } from '../../../../test/anyCharacter.mjs'
import '../../../../test/seed.mjs'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Wire as WireName } from '@latchkey/kmd-api'
import fc from 'fast-check'
import { KmdError } from '../errors.js'
import * as Wire from './Wire.js'

const name = [{ name: 'name', shape: { type: 'text' } }] as const
const written = (wire: WireName, bytes: Uint8Array): string => Wire.write(wire, name, { name: bytes })

const everything = [
  { name: 'zeta', shape: { type: 'string' } },
  { name: 'alpha', shape: { type: 'bool' } },
  { name: 'key', shape: { type: 'key', name: 'PublicKey' } },
  { name: 'sig', shape: { type: 'base64' } },
  { name: 'count', shape: { type: 'uint', format: 'int64' } },
  { name: 'list', shape: { type: 'list', of: { type: 'key', name: 'PublicKey' } } },
] as const

const full = {
  zeta: 'z',
  alpha: true,
  key: Uint8Array.of(1, 2, 255),
  sig: Uint8Array.of(1, 2, 255),
  count: 7,
  list: [Uint8Array.of(1), Uint8Array.of(2)],
}
const empty = { zeta: '', alpha: false, key: new Uint8Array(32), sig: new Uint8Array(0), count: 0, list: [] }

test('the reference wire sorts members, indents by two, writes bytes as base64 and ends without a newline', () => {
  assert.equal(
    Wire.write('reference', everything, full),
    `{
  "alpha": true,
  "count": 7,
  "key": "AQL/",
  "list": [
    "AQ==",
    "Ag=="
  ],
  "sig": "AQL/",
  "zeta": "z"
}`,
  )
})

test('the documented wire is compact, begins with the envelope, and writes keys as integers but signatures as base64', () => {
  assert.equal(
    Wire.write('documented', everything, full),
    '{"error":false,"message":"","zeta":"z","alpha":true,"key":[1,2,255],"sig":"AQL/","count":7,"list":[[1],[2]]}',
  )
})

test('the reference wire omits empty members, including all-zero bytes', () => {
  assert.equal(Wire.write('reference', everything, empty), '{}')
  assert.equal(Wire.write('reference', [], {}), '{}')
})

test('the documented wire omits nothing', () => {
  const zeros = new Array(32).fill(0)
  assert.deepEqual(JSON.parse(Wire.write('documented', everything, empty)), {
    error: false,
    message: '',
    zeta: '',
    alpha: false,
    key: zeros,
    sig: '',
    count: 0,
    list: [],
  })
  assert.equal(Wire.write('documented', [], {}), '{"error":false,"message":""}')
})

test('nested objects omit nothing on either wire, and are sorted on the reference wire', () => {
  const inner = {
    type: 'object',
    name: 'Inner',
    members: [
      { name: 'b', shape: { type: 'bool' } },
      { name: 'a', shape: { type: 'list', of: { type: 'string' } } },
    ],
  } as const
  const members = [{ name: 'inner', shape: inner }] as const
  const output = { inner: { b: false, a: [] } }
  assert.equal(Wire.write('reference', members, output), '{\n  "inner": {\n    "a": [],\n    "b": false\n  }\n}')
  assert.equal(Wire.write('documented', members, output), '{"error":false,"message":"","inner":{"b":false,"a":[]}}')
})

const escapes: [bytes: Uint8Array, json: string][] = [
  [Buffer.from('"\\/'), '"\\"\\\\/"'],
  [Buffer.from('\b\f\n\r\t'), '"\\b\\f\\n\\r\\t"'],
  [Buffer.from('\x00\x01\x1f\x7f'), '"\\u0000\\u0001\\u001f\x7f"'],
  [Buffer.from('<>&\u2028\u2029'), '"<>&\\u2028\\u2029"'],
  [Buffer.from('grüße 😀'), '"grüße 😀"'],
  [Buffer.from('\ufffd'), '"\ufffd"'],
  [Uint8Array.of(0x61, 0xff, 0xfe, 0x62), '"a\\ufffd\\ufffdb"'],
  [Uint8Array.of(0xed, 0xa0, 0x80), '"\\ufffd\\ufffd\\ufffd"'],
]
for (const [bytes, json] of escapes) {
  test(`${Buffer.from(bytes).toString('hex')} is written as ${json}`, () => {
    assert.equal(written('reference', bytes), `{\n  "name": ${json}\n}`)
    assert.equal(written('documented', bytes), `{"error":false,"message":"","name":${json}}`)
  })
}

test('a view of a larger buffer is written without the rest of the buffer', () => {
  const view = Uint8Array.of(9, 1, 2, 3, 9).subarray(1, 4)
  assert.equal(Wire.write('reference', [{ name: 'b', shape: { type: 'base64' } }], { b: view }), '{\n  "b": "AQID"\n}')
})

test('an error is the envelope alone, in the layout of its wire', () => {
  const error = new KmdError('wallets_directory', { message: 'open "x": denied' })
  assert.equal(Wire.writeError('reference', error), '{\n  "error": true,\n  "message": "open \\"x\\": denied"\n}')
  assert.equal(Wire.writeError('documented', error), '{"error":true,"message":"open \\"x\\": denied"}')
})

test('a response with its own message member has one message', () => {
  const members = [{ name: 'message', shape: { type: 'string' } }] as const
  assert.equal(Wire.write('documented', members, { message: 'x' }), '{"error":false,"message":"x"}')
  assert.equal(Wire.write('documented', members, { message: '' }), '{"error":false,"message":""}')
  assert.equal(Wire.write('reference', members, { message: '' }), '{}')
})

const decode = (...bytes: number[]): string => Wire.decodeText(Uint8Array.from(bytes))
const bad = Wire.invalidByte

test('valid text is decoded unchanged, including a byte order mark', () => {
  for (const text of ['', 'plain', 'grüße', '\u2028', '😀', '\ufeffmarked', '\0', '\ufffd']) {
    assert.equal(Wire.decodeText(Buffer.from(text)), text)
  }
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => assert.equal(Wire.decodeText(Buffer.from(text)), text)),
  )
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
      assert.equal(Wire.decodeText(bytes).includes(bad), !isValid)
    }),
    { numRuns: 5000 },
  )
})
