/**
 * The audit log: an append-only chain in which each record has the hash of the previous one. The log is in the same
 * database as the reservations, so that a payment and its record are one transaction.
 */
import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { KmdError } from '../errors.js'
import type { StateDatabase } from '../state/StateDatabase.js'
import {
  type AuditEvent,
  agentOf,
  ChainCheck,
  type CopiedHead,
  canonical,
  type Head,
  hashOf,
  noHead,
} from './AuditChain.js'
import { type Found, type Query, searchLog } from './searchLog.js'
import { type Verification, verifyLog } from './verifyLog.js'

/**
 * The log's part of the schema. `agent` repeats a member of the record, for listing one agent's records. `audit_head`
 * has the number and hash of the last record, which reveals missing records at the end.
 */
export const auditSchema = `
  CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    previous BLOB NOT NULL CHECK (length(previous) = 32),
    record TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    agent TEXT
  ) STRICT;
  CREATE INDEX audit_agent ON audit (agent, number) WHERE agent IS NOT NULL;
  CREATE TABLE audit_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
  ) STRICT;
`

export type AuditLogOptions = {
  database: StateDatabase
  /** @default none: missing records at the end are not noticed */
  headCopy?: HeadCopy | undefined
  /** Milliseconds since 1970. */
  now?: () => number
  /**
   * Called if the log is not as it was written: older, damaged, or without its copy of the head. Called within the
   * transaction that records this, after the record.
   */
  onDamage?: (reason: string) => void
  /** Called if the copy of the head could not be written. The log itself was written. */
  onCopyFailure?: (error: unknown) => void
}

type TimedHead = Head & { readonly atMs: number }

export class AuditLog {
  readonly #options: AuditLogOptions
  readonly #database: StateDatabase
  readonly #now: () => number
  #head: TimedHead | undefined
  /** Whether the log was compared with its noted heads since the start or the last rollback. */
  #isCompared = false
  #isCopyDue = false
  /** Whether the table does not name the last record yet. It is written once per transaction. */
  #isHeadDue = false
  #verification: Promise<Verification> | undefined
  #flush: () => Promise<void> = () => Promise.resolve()

  constructor(options: AuditLogOptions) {
    this.#options = options
    this.#database = options.database
    this.#now = options.now ?? Date.now
    const forget = (): void => this.forgetHead()
    this.#database.listen({
      beforeCommit: () => this.#writeHead(),
      onCommit: () => this.#copyHead(),
      onRollback: forget,
      onReopen: forget,
    })
  }

  /** Sets the function that writes pending records before the log is read. */
  onRead(flush: () => Promise<void>): void {
    this.#flush = flush
  }

  /** Appends a record in its own transaction, which others may share. */
  record(event: AuditEvent): Promise<void> {
    return this.#database.change(() => this.append(event))
  }

  /** Runs `make`, which may append records, in a transaction that others may share. */
  change<T>(make: () => T): Promise<T> {
    return this.#database.change(make)
  }

  /** Whether the log was compared with its noted heads since the start or the last rollback. */
  get isCompared(): boolean {
    return this.#isCompared
  }

  /** Compares the log with its noted heads, unless that was already done. Creates no file. */
  async compare(): Promise<void> {
    if (this.#isCompared || !this.#database.exists) return
    await this.#database.change(() => {
      this.#lastHead()
    })
  }

  /** Resolves once a write without changes has reached the disk, which shows that the next event can be recorded. */
  probe(): Promise<void> {
    return this.#database.change(() => {
      this.#noteHead(this.#lastHead())
    })
  }

  /** Appends a record. Call only within `StateDatabase.change`. */
  append(event: AuditEvent): void {
    const last = this.#lastHead()
    const number = last.number + 1
    // If the clock was set back, the time stands still here.
    const atMs = Math.max(this.#now(), last.atMs)
    const record = canonical(event)
    const hash = hashOf({ number, atMs, previous: last.hash, record })
    const { previous, agent } = { previous: last.hash, agent: agentOf(event) ?? null }
    this.#database
      .statement('INSERT INTO audit (number, at_ms, previous, record, hash, agent) VALUES (?, ?, ?, ?, ?, ?)')
      .run(number, atMs, previous, record, hash, agent)
    this.#head = { number, hash, atMs }
    this.#isHeadDue = true
    this.#isCopyDue = true
  }

  #writeHead(): void {
    if (!this.#isHeadDue || this.#head === undefined) return
    this.#isHeadDue = false
    this.#noteHead(this.#head)
  }

  #noteHead({ number, hash }: Head): void {
    this.#database.statement('INSERT OR REPLACE INTO audit_head (id, number, hash) VALUES (1, ?, ?)').run(number, hash)
  }

  /** Newest first, or oldest first if `afterNumber` is set. Creates no file. */
  async search(query: Query): Promise<Found> {
    await this.#flush()
    if (!this.#database.exists) return { records: [], continueFrom: undefined }
    return searchLog(this.#database, query)
  }

  /** Recomputes and verifies the whole log. Concurrent calls share one check. */
  verify(): Promise<Verification> {
    this.#verification ??= this.#verify().finally(() => {
      this.#verification = undefined
    })
    return this.#verification
  }

  async #verify(): Promise<Verification> {
    await this.#flush()
    const copy = this.#options.headCopy?.read()
    if (this.#database.exists) return verifyLog(this.#database, { copy })
    if (typeof copy !== 'object' || copy.number === 0) return { problem: undefined, head: noHead, anchors: [] }
    const check = new ChainCheck([{ ...copy, source: 'the copy of the head' }])
    return { problem: check.end(), head: noHead, anchors: [] }
  }

  /** The hash of a record; undefined if there is no such record. */
  hashAt(number: number): Uint8Array | undefined {
    if (!this.#database.exists) return undefined
    const row = this.#database.statement('SELECT hash FROM audit WHERE number = ?').get(number)
    return (row as { hash: Uint8Array } | undefined)?.hash
  }

  /** The last record; number 0 if there is none. Creates no file. */
  head(): Head {
    return this.#head ?? (this.#database.exists ? this.#readHead() : noHead)
  }

  /** Writes the copy of the head after a commit, before any response about the recorded events is sent. */
  #copyHead(): void {
    if (!this.#isCopyDue || this.#head === undefined) return
    this.#isCopyDue = false
    try {
      this.#options.headCopy?.write(this.#head)
    } catch (error) {
      this.#options.onCopyFailure?.(error)
    }
  }

  /** Runs after a rollback, because the memory no longer matches the file. */
  forgetHead(): void {
    this.#head = undefined
    this.#isCompared = false
    this.#isCopyDue = false
    this.#isHeadDue = false
  }

  close(): void {
    try {
      this.#options.headCopy?.close()
    } catch (error) {
      this.#options.onCopyFailure?.(error)
    }
  }

  #lastHead(): TimedHead {
    this.#head ??= this.#readHead()
    if (!this.#isCompared) this.#compare()
    return this.#head
  }

  #readHead(): TimedHead {
    const row = this.#database.statement('SELECT number, hash, at_ms FROM audit ORDER BY number DESC LIMIT 1').get() as
      | { number: number; hash: Uint8Array; at_ms: number }
      | undefined
    return row === undefined ? { ...noHead, atMs: 0 } : { number: row.number, hash: row.hash, atMs: row.at_ms }
  }

  /**
   * Runs before the first record since the start. If noted records are missing, the next ones would take their numbers
   * and hide the loss. So the finding is recorded permanently in the log itself.
   */
  #compare(): void {
    const reason = this.#damage()
    if (reason === newLog) this.#createCopy()
    this.#isCompared = true
    if (reason === undefined || reason === newLog) return
    this.append({ event: 'log_damaged', actor: { type: 'daemon' }, detail: { reason } })
    this.#options.onDamage?.(reason)
  }

  /** Created before the first record, so that a log with records but no copy is known to have lost its copy. */
  #createCopy(): void {
    try {
      this.#options.headCopy?.create(noHead)
    } catch (error) {
      throw new KmdError('state_not_written', { cause: error })
    }
  }

  /** Why the log does not match its noted heads; undefined if it does. */
  #damage(): string | undefined {
    const last = this.#head!
    const noted = this.#database.statement('SELECT number, hash FROM audit_head').get() as Head | undefined
    const copy = this.#options.headCopy?.read()
    if (last.number === 0 && noted === undefined && copy === 'missing') return newLog
    const inTable = this.#difference(noted ?? noHead, 'the table audit_head', true)
    if (inTable !== undefined || copy === undefined) return inTable
    if (copy === 'missing' || copy === 'damaged') return `its copy of the head is ${copy}`
    return this.#difference(copy, 'its copy of the head', false)
  }

  #difference(noted: Head, source: string, isExact: boolean): string | undefined {
    const last = this.#head!
    if (noted.number > last.number)
      return `it ends with record ${last.number}, but ${source} names record ${noted.number}`
    if (isExact && noted.number < last.number) {
      return `it ends with record ${last.number}, but ${source} names record ${noted.number}`
    }
    if (noted.number === 0) return undefined
    const found = this.#database.statement('SELECT hash FROM audit WHERE number = ?').get(noted.number) as
      | { hash: Uint8Array }
      | undefined
    const isSame = found !== undefined && Buffer.compare(found.hash, noted.hash) === 0
    return isSame ? undefined : `record ${noted.number} does not match ${source}`
  }
}

/** Marks a log that has no record and no copy yet. */
const newLog = 'new'

const slotBytes = 256
/** Far enough apart that one torn disk write hits only one slot. */
const slotOffsets = [0, 4096] as const
const pattern = /^latchkey audit head 1 ([0-9]{1,15}) ([0-9]{1,15}) ([0-9a-f]{64}) ([0-9a-f]{16})\n/

type Slot = Head & { readonly generation: number }

/**
 * A copy of the log's head in a separate small file, `latchkey_audit.head`. The copy reveals missing records at the end
 * of the log, which the chain alone cannot. It is written after each commit and not synced, so after a power failure it
 * may be older than the log but never newer. Two slots are written alternately, so that a torn write leaves the other
 * one intact.
 */
export class HeadCopy {
  /** The name of the file in a data directory. */
  static readonly fileName = 'latchkey_audit.head'

  /** Reads a copy. Other programs may do this, too. */
  static read(file: string): CopiedHead {
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats === undefined) return 'missing'
    // Opening a named pipe would block the whole daemon.
    if (!stats.isFile()) return 'damaged'
    const descriptor = openSync(file, 'r')
    try {
      const slot = readNewest(descriptor)
      return slot === undefined ? 'damaged' : { number: slot.number, hash: slot.hash }
    } finally {
      closeSync(descriptor)
    }
  }

  readonly #file: string
  #descriptor: number | undefined
  #generation = 0

  constructor(file: string) {
    this.#file = file
  }

  read(): CopiedHead {
    return HeadCopy.read(this.#file)
  }

  /** Creates the file and syncs it to disk. */
  create(head: Head): void {
    this.close()
    // Written at full size, so that later writes need no space on a full disk.
    AtomicFile.replaceSync(this.#file, Buffer.concat([slotOf(head, 1), Buffer.alloc(slotOffsets[1], '\n')]))
  }

  /** Writes in place without syncing. Creates a missing file. */
  write(head: Head): void {
    if (this.#descriptor === undefined && this.read() === 'missing') {
      this.create(head)
      return
    }
    const descriptor = this.#open()
    const generation = this.#generation + 1
    writeSync(descriptor, slotOf(head, generation), 0, slotBytes, slotOffsets[generation % 2 === 1 ? 0 : 1])
    this.#generation = generation
  }

  close(): void {
    if (this.#descriptor === undefined) return
    try {
      fsyncSync(this.#descriptor)
    } finally {
      closeSync(this.#descriptor)
      this.#descriptor = undefined
    }
  }

  #open(): number {
    if (this.#descriptor !== undefined) return this.#descriptor
    const descriptor = openSync(this.#file, 'r+')
    this.#generation = readNewest(descriptor)?.generation ?? 0
    this.#descriptor = descriptor
    return descriptor
  }
}

function slotOf({ number, hash }: Head, generation: number): Buffer {
  const text = `latchkey audit head 1 ${generation} ${number} ${Buffer.from(hash).toString('hex')}`
  return Buffer.from(`${text} ${checksum(text)}\n`.padEnd(slotBytes, '\n'))
}

function readNewest(descriptor: number): Slot | undefined {
  const slots = slotOffsets.map((offset) => readSlot(descriptor, offset)).filter((slot) => slot !== undefined)
  return slots.sort((a, b) => b.generation - a.generation)[0]
}

function readSlot(descriptor: number, offset: number): Slot | undefined {
  const bytes = Buffer.alloc(slotBytes)
  readSync(descriptor, bytes, 0, slotBytes, offset)
  const [line, generation, number, hash, sum] = pattern.exec(bytes.toString('latin1')) ?? []
  if (line === undefined || checksum(line.slice(0, line.lastIndexOf(' '))) !== sum) return undefined
  return { generation: Number(generation), number: Number(number), hash: Buffer.from(hash!, 'hex') }
}

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
