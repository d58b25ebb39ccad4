import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { rootsOf } from './Block.js'

type Algorithm = 'sha512-256' | 'sha256' | 'sha512'
const entries = Array.from({ length: 9 }, (_, index) => ({
  transaction: Uint8Array.of(index),
  entry: Uint8Array.of(100 + index),
}))
const hash = (algorithm: Algorithm, ...parts: (string | Uint8Array)[]): Buffer =>
  parts.reduce((digest, part) => digest.update(part), createHash(algorithm)).digest()
const leaf = (algorithm: Algorithm, index: number, inner: Algorithm = algorithm): Buffer => {
  const { transaction, entry } = entries[index]!
  return hash(algorithm, 'TL', hash(inner, 'TX', transaction), hash(inner, 'STIB', entry))
}

test('without transactions the first root is absent, and the others are those of a padding leaf', () => {
  const { txn, txn256, txn512 } = rootsOf([])
  assert.equal(txn, undefined)
  assert.deepEqual(txn256, hash('sha256', 'MB'))
  assert.deepEqual(txn512, hash('sha512', 'MB'))
})

test('the root of one transaction is its leaf', () => {
  const { txn, txn256, txn512 } = rootsOf(entries.slice(0, 1))
  assert.deepEqual(txn, leaf('sha512-256', 0))
  assert.deepEqual(txn256, leaf('sha256', 0))
  assert.deepEqual(txn512, leaf('sha512', 0, 'sha256'))
})

test('a third leaf is paired with zeroes in the first tree and with a padding leaf in the others', () => {
  const { txn, txn256 } = rootsOf(entries.slice(0, 3))
  const pair = (algorithm: Algorithm, left: Buffer, right: Buffer): Buffer => hash(algorithm, 'MA', left, right)
  const [a, b, c] = [0, 1, 2].map((index) => leaf('sha512-256', index)) as [Buffer, Buffer, Buffer]
  assert.deepEqual(txn, pair('sha512-256', pair('sha512-256', a, b), pair('sha512-256', c, Buffer.alloc(32))))
  const [x, y, z] = [0, 1, 2].map((index) => leaf('sha256', index)) as [Buffer, Buffer, Buffer]
  assert.deepEqual(txn256, pair('sha256', pair('sha256', x, z), pair('sha256', y, hash('sha256', 'MB'))))
})

test('the roots depend on every transaction, its position and their number', () => {
  const seen = new Set<string>()
  for (let count = 1; count <= entries.length; count++) {
    for (const list of [entries.slice(0, count), entries.slice(0, count).reverse()]) {
      const { txn, txn256, txn512 } = rootsOf(list)
      for (const root of [txn!, txn256, txn512]) seen.add(Buffer.from(root).toString('hex'))
    }
  }
  assert.equal(seen.size, 3 * (2 * entries.length - 1))
})
