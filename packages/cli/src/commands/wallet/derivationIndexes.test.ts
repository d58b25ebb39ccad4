import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Ed25519, KeyDerivation } from '@latchkey/algorand'
import { derivationIndexes } from './derivationIndexes.js'

const master = new Uint8Array(32).fill(7)
const derived = (index: number): string => Address.encode(Ed25519.publicKey(KeyDerivation.seed(master, index)))
const stranger = Address.encode(Ed25519.publicKey(new Uint8Array(32).fill(9)))

test('finds the indexes of generated keys and no imported ones', () => {
  assert.deepEqual(
    derivationIndexes(master, [derived(3), stranger, derived(1)]),
    new Map([
      [derived(1), 1],
      [derived(3), 3],
    ]),
  )
  assert.deepEqual(derivationIndexes(master, []), new Map())
  assert.deepEqual(derivationIndexes(master, [stranger]), new Map())
})

test('skips the indexes of deleted keys', () => {
  assert.deepEqual([...derivationIndexes(master, [derived(4_000), derived(8_000)]).values()], [4_000, 8_000])
})
