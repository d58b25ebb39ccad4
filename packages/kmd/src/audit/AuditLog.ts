/**
 * The audit log: an append-only chain in which each record has the hash of the one before it. It is in the same database as
 * the reservations, so that a payment and its record are one transaction.
 */
import { createHash } from 'node:crypto'
import type { StateDatabase } from '../state/StateDatabase.js'
import { type AuditEvent, canonical } from './AuditRecord.js'

/** The part of the schema that is the log's. */
export const auditSchema = `
  CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    previous BLOB NOT NULL CHECK (length(previous) = 32),
    record TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
  ) STRICT;
`

type Head = { number: number; hash: Buffer }

export type AuditLogOptions = {
  database: StateDatabase
  /** Milliseconds since 1970. */
  now?: () => number
}

export class AuditLog {
  readonly #database: StateDatabase
  readonly #now: () => number
  #head: Head | undefined

  constructor({ database, now = Date.now }: AuditLogOptions) {
    this.#database = database
    this.#now = now
  }

  /** Appends a record in a transaction of its own, which others may share. */
  record(event: AuditEvent): Promise<void> {
    return this.#database.change(() => this.append(event))
  }

  /** Appends a record. Only within `StateDatabase.change`. */
  append(event: AuditEvent): void {
    const { number, hash: previous } = this.#readHead()
    const next = { number: number + 1, atMs: this.#now(), previous, record: canonical(event) }
    const hash = hashOf(next)
    this.#database
      .statement('INSERT INTO audit (number, at_ms, previous, record, hash) VALUES (?, ?, ?, ?, ?)')
      .run(next.number, next.atMs, next.previous, next.record, hash)
    this.#head = { number: next.number, hash }
  }

  /** What is in memory no longer agrees with the file: a transaction was rolled back. */
  forgetHead(): void {
    this.#head = undefined
  }

  #readHead(): Head {
    if (this.#head !== undefined) return this.#head
    const row = this.#database.statement('SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1').get() as
      | { number: number; hash: Uint8Array }
      | undefined
    return row === undefined
      ? { number: 0, hash: Buffer.alloc(32) }
      : { number: row.number, hash: Buffer.from(row.hash) }
  }
}

/** The hash of a record: over its number, time, the hash before it, and its text, each with a fixed length or at the end. */
export function hashOf(record: { number: number; atMs: number; previous: Uint8Array; record: string }): Buffer {
  const numbers = Buffer.alloc(16)
  numbers.writeBigUInt64BE(BigInt(record.number), 0)
  numbers.writeBigUInt64BE(BigInt(record.atMs), 8)
  return createHash('sha256')
    .update('latchkey audit record 1\n')
    .update(numbers)
    .update(record.previous)
    .update(record.record)
    .digest()
}
