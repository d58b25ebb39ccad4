import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ed25519 } from '@latchkey/algorand'
import { RecentKeys } from './RecentKeys.js'

const pair = (number: number): Ed25519.KeyPair =>
  Ed25519.keyPairFromSeed(new Uint8Array(32).fill(number & 0xff).fill(number >> 8, 1))
const pairs = Array.from({ length: 260 }, (_, i) => pair(i))
const holds = (keys: RecentKeys, { publicKey, secretKey }: Ed25519.KeyPair, revision: number): boolean => {
  const found = keys.get(publicKey, revision)
  if (found !== undefined) assert.deepEqual(Buffer.from(found), Buffer.from(secretKey))
  return found !== undefined
}

test('a key is found by its address while the file has the same revision', () => {
  const keys = new RecentKeys()
  keys.set(pairs[0]!.secretKey, 1)
  keys.set(pairs[1]!.secretKey, 1)
  assert.equal(holds(keys, pairs[0]!, 1), true)
  assert.equal(holds(keys, pairs[1]!, 1), true)
  assert.equal(holds(keys, pairs[2]!, 1), false)
  keys.free()
})

test('a changed or uncertain revision wipes all keys', () => {
  for (const revision of [2, undefined]) {
    const keys = new RecentKeys()
    keys.set(pairs[0]!.secretKey, 1)
    const kept = keys.get(pairs[0]!.publicKey, 1)!
    assert.equal(keys.get(pairs[0]!.publicKey, revision), undefined)
    assert.deepEqual(Buffer.from(kept), Buffer.alloc(64))
    assert.equal(holds(keys, pairs[0]!, 1), false, 'nor do they come back')
    keys.free()
  }
})

test('no key is stored while the revision is uncertain', () => {
  const keys = new RecentKeys()
  keys.set(pairs[0]!.secretKey, undefined)
  assert.equal(keys.get(pairs[0]!.publicKey, 0), undefined)
  keys.free()
})

test('the last 256 keys are kept', () => {
  const keys = new RecentKeys()
  for (const { secretKey } of pairs) keys.set(secretKey, 1)
  assert.deepEqual(
    pairs.map((one) => holds(keys, one, 1)),
    [...new Array(4).fill(false), ...new Array(256).fill(true)],
  )
  keys.free()
})

test('the given key is copied: wiping it changes nothing', () => {
  const keys = new RecentKeys()
  const secretKey = Uint8Array.from(pairs[0]!.secretKey)
  keys.set(secretKey, 1)
  secretKey.fill(0)
  assert.equal(holds(keys, pairs[0]!, 1), true)
  keys.free()
})

test('free() removes every key, and can be called twice', () => {
  const keys = new RecentKeys()
  keys.set(pairs[0]!.secretKey, 1)
  keys.free()
  keys.free()
  assert.equal(keys.get(pairs[0]!.publicKey, 1), undefined)
})
