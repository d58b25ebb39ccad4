/**
 * The digest of what a group with application calls did. A journal keeps the transactions, not their outcome: with the
 * digest, a later version that evaluates a program differently is noticed instead of making another history.
 */
import { createHash } from 'node:crypto'
import * as Block from '../Block.js'
import type { StateOverlay } from '../StateOverlay.js'

/** Covers the entries of the block, the number of transactions, the balances and the boxes that changed. */
export function outcomeDigest(applied: readonly Block.Applied[], overlay: StateOverlay): Uint8Array {
  const hash = createHash('sha512-256')
  const part = (bytes: Uint8Array | string): void => {
    const encoded = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes
    const length = Buffer.alloc(4)
    length.writeUInt32BE(encoded.length)
    hash.update(length).update(encoded)
  }
  for (const { transaction, outcome } of applied) part(Block.commitmentEntryOf(transaction.decoded, outcome).entry)
  part(overlay.transactionCount().toString())
  for (const [key, { microAlgos }] of sorted(overlay.accounts)) part(key + microAlgos.toString())
  for (const [key, { value }] of sorted(overlay.boxes)) {
    part(key)
    part(value === undefined ? 'deleted' : Buffer.concat([Buffer.from('='), value]))
  }
  return new Uint8Array(hash.digest())
}

function sorted<V>(map: ReadonlyMap<string, V>): [string, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}
