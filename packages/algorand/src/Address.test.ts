import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import fc from 'fast-check'
import * as Address from './Address.js'
import { key32, numRuns } from './fuzz.test.helper.js'
import '../../../test/seed.mjs'

const text = '5JFGYY7CTRJAVPXVKB5RGLWF7GKUO5VOX27HXESCD3VGSFCG2IWAKDM5YU'

test('agrees with algosdk in both directions', () => {
  fc.assert(
    fc.property(key32, (key) => {
      const encoded = Address.encode(key)
      assert.equal(encoded, algosdk.encodeAddress(key))
      assert.deepEqual(Address.decode(encoded), key)
    }),
    { numRuns },
  )
})

test('encodes the zero address', () => {
  assert.equal(Address.encode(new Uint8Array(32)), algosdk.ALGORAND_ZERO_ADDRESS_STRING)
})

test('every other spelling is rejected', () => {
  assert.ok(Address.isValid(text))
  const spellings = {
    short: text.slice(1),
    long: `${text}A`,
    padded: `${text.slice(0, -1)}=`,
    'lower case': text.toLowerCase(),
    'foreign character': text.replace('5', '1'),
    'character above ASCII': `${text.slice(0, -1)}Ł`,
    'wrong checksum': `${text.slice(0, -2)}Y4`,
    'wrong key': `A${text.slice(1)}`,
    // The last character carries three bits; U with one of the two unused bits set is V.
    'unused bits set': `${text.slice(0, -1)}V`,
    empty: '',
  }
  for (const [name, spelling] of Object.entries(spellings)) {
    assert.throws(() => Address.decode(spelling), Address.AddressError, name)
    assert.equal(Address.isValid(spelling), false, name)
  }
})

test('detects every changed character', () => {
  fc.assert(
    fc.property(
      key32,
      fc.nat({ max: 57 }),
      fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'),
      (key, at, letter) => {
        const encoded = Address.encode(key)
        const changed = encoded.slice(0, at) + letter + encoded.slice(at + 1)
        assert.equal(Address.isValid(changed), changed === encoded)
      },
    ),
    { numRuns },
  )
})

test('rejects a key of another length', () => {
  assert.throws(() => Address.encode(new Uint8Array(31)), Address.AddressError)
  assert.throws(() => Address.encode(new Uint8Array(33)), Address.AddressError)
})
