import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Bytes from './Bytes.js'

test('base64 in the URL-safe alphabet has no padding and one spelling', () => {
  const bytes = Uint8Array.of(0xfb, 0xff, 0xfe, 0xff)
  assert.equal(Bytes.toBase64(bytes), '+//+/w==')
  assert.equal(Bytes.toBase64Url(bytes), '-__-_w')
  assert.deepEqual(Bytes.fromBase64Url('-__-_w'), bytes)
  assert.deepEqual(Bytes.fromBase64('+//+/w=='), bytes)
  for (const text of ['-__-_w==', '+//+/w', '-__-_x', '-__-_', '-__-_w ']) {
    assert.equal(Bytes.fromBase64Url(text), undefined, text)
  }
  assert.equal(Bytes.fromBase64('-__-_w=='), undefined)
})

test('hexadecimal is read in either case and written in lower case', () => {
  const bytes = Uint8Array.of(0, 0xab, 0xff)
  assert.equal(Bytes.toHex(bytes), '00abff')
  assert.deepEqual(Bytes.fromHex('00ABff'), bytes)
  for (const text of ['0', '0g', ' 00', '0x00', '00 ']) assert.equal(Bytes.fromHex(text), undefined, text)
})

test('UTF-8 round-trips and is validated', () => {
  for (const text of ['', 'plain', 'größer als dreißig Zeichen, damit die Schleife endet', '🔑']) {
    assert.equal(Bytes.toUtf8(Bytes.fromUtf8(text)), text)
    assert.equal(Bytes.fromUtf8(text).constructor, Uint8Array)
  }
  assert.equal(Bytes.toUtf8(Uint8Array.of(0xff)), undefined)
})

test('the constant-time comparison gives the same result as a plain one', () => {
  const [a, b] = [Uint8Array.of(1, 2, 3), Uint8Array.of(1, 2, 4)]
  for (const [left, right] of [
    [a, a.slice()],
    [a, b],
    [a, a.slice(1)],
  ] as const) {
    assert.equal(Bytes.equalConstantTime(left, right), Bytes.equal(left, right))
  }
})

test('random bytes have the given length, and wiping leaves zeros', () => {
  const bytes = Bytes.random(32)
  assert.equal(bytes.length, 32)
  assert.equal(Bytes.isZero(bytes), false)
  Bytes.wipe(bytes)
  assert.equal(Bytes.isZero(bytes), true)
})
