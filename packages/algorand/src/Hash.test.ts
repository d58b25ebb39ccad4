import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import * as Hash from './Hash.js'

const abc = new Uint8Array(Buffer.from('abc'))

test('sha512_256 matches the vectors of FIPS 180-4', () => {
  assert.equal(hex(Hash.sha512_256(abc)), '53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23')
  assert.equal(
    hex(Hash.sha512_256(new Uint8Array())),
    'c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a',
  )
})

test('the domain and every part are hashed, in order', () => {
  const expected = createHash('sha512-256').update('TX').update('abc').update('abc').digest('hex')
  assert.equal(hex(Hash.hash('TX', abc, abc)), expected)
  assert.equal(Buffer.from(Hash.prefixed('MultisigAddr', abc)).toString(), 'MultisigAddrabc')
})

test('a digest has one spelling as text', () => {
  const digest = Hash.hash(Hash.domains.blockHeader, abc)
  assert.deepEqual(digest, Hash.sha512_256(new Uint8Array(Buffer.from('BHabc'))))
  const text = Hash.toText(digest)
  assert.match(text, /^[A-Z2-7]{52}$/)
  assert.deepEqual(Hash.fromText(text), digest)
  assert.equal(Hash.toText(new Uint8Array(32)), 'A'.repeat(52))
  assert.deepEqual(Hash.fromText('A'.repeat(52)), new Uint8Array(32))
  for (const wrong of ['', 'A'.repeat(51), 'A'.repeat(53), `${'A'.repeat(51)}B`, `${'A'.repeat(51)}a`, `${text}====`]) {
    assert.equal(Hash.fromText(wrong), undefined)
  }
  assert.throws(() => Hash.toText(new Uint8Array(31)), Hash.HashError)
})

test('results do not share memory that a later call writes', () => {
  const first = Hash.prefixed('TX', abc)
  const copy = first.slice()
  for (let round = 0; round < 3000; round++) Hash.prefixed('TG', abc)
  assert.deepEqual(first, copy)
})

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
