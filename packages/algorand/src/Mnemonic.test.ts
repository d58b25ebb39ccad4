import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import fc from 'fast-check'
import { key32, numRuns } from './fuzz.test.helper.js'
import * as Mnemonic from './Mnemonic.js'
import '../../../test/seed.mjs'

const zero = `${'abandon '.repeat(24)}invest`

test('agrees with algosdk in both directions', () => {
  fc.assert(
    fc.property(key32, (key) => {
      const text = Mnemonic.encode(key)
      assert.equal(text, algosdk.mnemonicFromSeed(key))
      assert.deepEqual(Mnemonic.decode(text), key)
    }),
    { numRuns },
  )
})

test('encodes 32 zero bytes', () => {
  assert.equal(Mnemonic.encode(new Uint8Array(32)), zero)
})

test('ignores white space and case', () => {
  assert.deepEqual(Mnemonic.decode(`\n ${zero.toUpperCase().replaceAll(' ', '\t ')}\n`), new Uint8Array(32))
})

test('identifies an unknown word by its position without repeating it', () => {
  const words = zero.split(' ')
  words[6] = 'topsecret'
  assert.throws(
    () => Mnemonic.decode(words.join(' ')),
    (error) =>
      error instanceof Mnemonic.MnemonicError &&
      error.message === 'word 7 of the mnemonic is not in the word list' &&
      !`${error.stack}`.includes('topsecret'),
  )
})

test('rejects names that objects inherit', () => {
  assert.throws(() => Mnemonic.decode(zero.replace('abandon', 'constructor')), /word 1 /)
})

test('a wrong checksum, word count or last word is rejected', () => {
  const words = zero.split(' ')
  assert.throws(() => Mnemonic.decode(words.with(24, 'zoo').join(' ')), /checksum/)
  assert.throws(() => Mnemonic.decode(words.with(0, 'ability').join(' ')), /checksum/)
  // The 24th word carries three bits of the key; "zoo" sets the other eight as well.
  assert.throws(() => Mnemonic.decode(words.with(23, 'zoo').join(' ')), /checksum/)
  assert.throws(() => Mnemonic.decode(words.slice(1).join(' ')), /25 words, not 24/)
  assert.throws(() => Mnemonic.decode(''), Mnemonic.MnemonicError)
  assert.throws(() => Mnemonic.encode(new Uint8Array(31)), Mnemonic.MnemonicError)
})
