/**
 * The audit log: an append-only chain in which each record has the hash of the previous one. The log is in the same
 * database as the reservations, so that a payment and its record are one transaction.
 */
import { KmdError } from '../errors.js'
import type { StateDatabase } from '../state/StateDatabase.js'
import { type AuditEvent, agentOf, ChainCheck, canonical, type Head, hashOf, noHead } from './AuditChain.js'
import type { HeadCopy } from './HeadCopy.js'
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
    this.#database.listen({ beforeCommit: () => this.#writeHead() })
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

  /** Called after a commit. Writes the copy of the head before any response about the recorded events is sent. */
  committed(): void {
    if (!this.#isCopyDue || this.#head === undefined) return
    this.#isCopyDue = false
    try {
      this.#options.headCopy?.write(this.#head)
    } catch (error) {
      this.#options.onCopyFailure?.(error)
    }
  }

  /** Called after a rollback, because the memory no longer matches the file. */
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
