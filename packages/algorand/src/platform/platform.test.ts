import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Bytes from '../Bytes.js'
import * as node from './node.js'
import type { Platform } from './Platform.js'
import * as web from './web.js'

const platforms: { readonly [name: string]: Platform } = { node, web }

for (const [name, platform] of Object.entries(platforms)) {
  test(`${name} reads UTF-8 strictly and keeps a byte order mark`, () => {
    assert.equal(platform.decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41)), '\ufeffA')
    assert.equal(platform.decodeUtf8Lossy(Uint8Array.of(0xef, 0xbb, 0xbf, 0xff)), '\ufeff\ufffd')
    // An overlong form, half of a surrogate pair, a truncated sequence, a code point above the last one.
    for (const wrong of [
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xe2, 0x82],
      [0xf4, 0x90, 0x80, 0x80],
    ]) {
      assert.equal(platform.isUtf8(Uint8Array.from(wrong)), false)
      assert.equal(platform.decodeUtf8(Uint8Array.from(wrong)), undefined)
    }
  })

  test(`${name} finds a difference in any byte, at any offset of the buffer`, () => {
    for (const length of [0, 1, 127, 128, 131, 4096]) {
      const bytes = new Uint8Array(length + 3).fill(7).subarray(3)
      assert.equal(platform.isEqual(bytes, new Uint8Array(length).fill(7)), true)
      for (const index of [0, 1, 126, 127, 128, 130, 4095].filter((one) => one < length)) {
        const changed = new Uint8Array(bytes)
        changed[index] = 8
        assert.equal(platform.isEqual(bytes, changed), false)
        assert.equal(Bytes.equal(bytes, changed), false)
      }
      assert.equal(Bytes.equal(bytes, new Uint8Array(bytes)), true)
    }
  })

  test(`${name} reads only one spelling of base64`, () => {
    // RFC 4648, section 10.
    const spellings = ['', 'Zg==', 'Zm8=', 'Zm9v', 'Zm9vYg==', 'Zm9vYmE=', 'Zm9vYmFy']
    for (const [length, text] of spellings.entries()) {
      const bytes = new TextEncoder().encode('foobar'.slice(0, length))
      assert.equal(platform.encodeBase64(bytes), text)
      assert.deepEqual(platform.decodeBase64(text), bytes)
    }
    const wrong = [
      'Zg',
      'Zg=',
      'Zh==',
      'Zm9=',
      'Zm9v\n',
      ' Zm9v',
      'Zm_v',
      'Zm-v',
      '====',
      '=',
      'Z===',
      'Zg==Zg==',
      'Zmé=',
    ]
    for (const text of wrong) assert.equal(platform.decodeBase64(text), undefined, text)
  })

  test(`${name} returns plain arrays with separate memory`, () => {
    const bytes = platform.decodeBase64('Zm9v')!
    assert.equal(bytes.constructor, Uint8Array)
    assert.equal(bytes.buffer.byteLength, 3)
  })
}

test('both platforms give the same results for all bytes and many lengths', () => {
  for (let length = 0; length < 300; length++) {
    const bytes = new Uint8Array(length).map((_, index) => index * 73 + length)
    for (const name of [
      'decodeLatin1',
      'decodeUtf8',
      'decodeUtf8Lossy',
      'encodeBase64',
      'encodeHex',
      'isUtf8',
    ] as const) {
      assert.equal(platforms['web']![name](bytes), platforms['node']![name](bytes), name)
    }
    assert.deepEqual(web.decodeBase64(web.encodeBase64(bytes)), bytes)
  }
  const long = new Uint8Array(100_000).fill(0xe9)
  assert.equal(web.decodeLatin1(long), node.decodeLatin1(long))
})

test('both platforms provide the same functions', () => {
  assert.deepEqual(Object.keys(web).sort(), Object.keys(node).sort())
})

test('node leaves no decoded data in the pool of Buffers', () => {
  const secret = new Uint8Array(32).map((_, index) => 200 - index)
  const text = node.encodeBase64(secret)
  const pool = Buffer.from(Buffer.from('x').buffer)
  node.decodeBase64(text)
  assert.equal(pool.includes(Buffer.from(secret.buffer)), false)
})
