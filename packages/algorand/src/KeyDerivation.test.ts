import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Address from './Address.js'
import * as Ed25519 from './Ed25519.js'
import * as KeyDerivation from './KeyDerivation.js'
import { derivationVectors } from './testdata/derivation.test.data.js'

const master = Uint8Array.from({ length: 32 }, (_, index) => index)

test('seeds and addresses match the reference daemon', () => {
  for (const { masterDerivationKey, keys } of derivationVectors) {
    for (const { index, seed, address } of keys) {
      const derived = KeyDerivation.seed(new Uint8Array(Buffer.from(masterDerivationKey, 'hex')), index)
      assert.equal(Buffer.from(derived).toString('hex'), seed)
      assert.equal(Address.encode(Ed25519.publicKey(derived)), address)
    }
  }
})

test('numbers and bigints identify the same key', () => {
  assert.deepEqual(KeyDerivation.seed(master, 5), KeyDerivation.seed(master, 5n))
})

test('impossible indices and keys are rejected', () => {
  for (const index of [-1, -1n, 0.5, Number.NaN, 2 ** 53, 2n ** 63n]) {
    assert.throws(() => KeyDerivation.seed(master, index), KeyDerivation.KeyDerivationError, String(index))
  }
  assert.throws(() => KeyDerivation.seed(master.slice(1), 1), KeyDerivation.KeyDerivationError)
})
