import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Address from './Address.js'
import * as Ed25519 from './Ed25519.js'
import { sodium } from './sodium.js'

// RFC 8032, section 7.1, test 2.
const seed = bytes('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb')
const publicKey = bytes('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c')
const message = Uint8Array.of(0x72)
const signature = bytes(
  '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
)

test('keys and signatures match RFC 8032', () => {
  const pair = Ed25519.keyPairFromSeed(seed)
  assert.deepEqual(pair.publicKey, publicKey)
  assert.deepEqual(pair.secretKey, Uint8Array.of(...seed, ...publicKey))
  assert.deepEqual(Ed25519.publicKey(seed), publicKey)
  assert.deepEqual(Ed25519.sign(message, pair.secretKey), signature)
  assert.equal(Ed25519.verify(signature, message, publicKey), true)
})

test('a known seed has its known address', () => {
  const address = Address.encode(Ed25519.publicKey(new Uint8Array(32).fill(7)))
  assert.equal(address, '5JFGYY7CTRJAVPXVKB5RGLWF7GKUO5VOX27HXESCD3VGSFCG2IWAKDM5YU')
})

test('writes the secret key to the given memory', () => {
  const protectedMemory = sodium.sodium_malloc(64)
  const pair = Ed25519.keyPairFromSeed(seed, protectedMemory)
  assert.equal(pair.secretKey, protectedMemory)
  assert.deepEqual(Ed25519.sign(message, protectedMemory), signature)
})

test('verify returns false, and does not throw, for every wrong input', () => {
  const flipped = signature.slice()
  flipped[0]! ^= 1
  assert.equal(Ed25519.verify(flipped, message, publicKey), false)
  assert.equal(Ed25519.verify(signature, Uint8Array.of(0x73), publicKey), false)
  assert.equal(Ed25519.verify(signature, new Uint8Array(), publicKey), false)
  assert.equal(Ed25519.verify(signature.slice(1), message, publicKey), false)
  assert.equal(Ed25519.verify(Uint8Array.of(...signature, 0), message, publicKey), false)
  assert.equal(Ed25519.verify(signature, message, publicKey.slice(1)), false)
  assert.equal(Ed25519.verify(new Uint8Array(), new Uint8Array(), new Uint8Array()), false)
})

test('verify returns false for a key of small order', () => {
  assert.equal(Ed25519.verify(new Uint8Array(64), message, new Uint8Array(32)), false)
})

test('secrets of a wrong length are errors', () => {
  assert.throws(() => Ed25519.keyPairFromSeed(seed.slice(1)), Ed25519.Ed25519Error)
  assert.throws(() => Ed25519.keyPairFromSeed(seed, new Uint8Array(63)), Ed25519.Ed25519Error)
  assert.throws(() => Ed25519.sign(message, seed), Ed25519.Ed25519Error)
})

function bytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, 'hex'))
}
