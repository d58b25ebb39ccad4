import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Address } from '@latchkey/algorand'
import fc from 'fast-check'
import * as PublicKey from './PublicKey.js'

it('an address and its bytes are the same key', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (key) => {
      assert.deepEqual(PublicKey.bytes(Address.encode(key)), key)
      assert.equal(PublicKey.bytes(key), key)
    }),
  )
})

it('an address is read exactly where the algorand package reads it', () => {
  const address = Address.encode(new Uint8Array(32).fill(5))
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567018a= é'
  for (let at = 0; at < address.length; at++) {
    for (const letter of letters) {
      const text = address.slice(0, at) + letter + address.slice(at + 1)
      assert.equal(PublicKey.bytes(text) !== undefined, Address.isValid(text), text)
    }
  }
  for (const text of ['', address.slice(1), `${address}A`, address.toLowerCase()]) {
    assert.equal(PublicKey.bytes(text), undefined)
  }
})

it('bytes of another length are no key', () => {
  for (const length of [0, 31, 33, 64]) assert.equal(PublicKey.bytes(new Uint8Array(length)), undefined)
  assert.equal(PublicKey.bytes([] as unknown as Uint8Array), undefined)
})
