import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Ed25519, KeyDerivation } from '@latchkey/algorand'
import { places } from './Origins.js'

const master = new Uint8Array(32).fill(7)
const derived = (place: number): string => Address.encode(Ed25519.publicKey(KeyDerivation.seed(master, place)))
const stranger = Address.encode(Ed25519.publicKey(new Uint8Array(32).fill(9)))

test('generated keys are found at their places, imported ones are not', () => {
  assert.deepEqual(
    places(master, [derived(3), stranger, derived(1)]),
    new Map([
      [derived(1), 1],
      [derived(3), 3],
    ]),
  )
  assert.deepEqual(places(master, []), new Map())
  assert.deepEqual(places(master, [stranger]), new Map())
})

test('the places of deleted keys are passed over, also far apart', () => {
  assert.deepEqual([...places(master, [derived(4_000), derived(8_000)]).values()], [4_000, 8_000])
})
