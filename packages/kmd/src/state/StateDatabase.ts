/**
 * The daemon's own state: agents, their reservations, approvals and the audit log, in one SQLite file separate from the
 * wallets. The file is created with the first write. The daemon's lock on the data directory makes it the only writing
 * process.
 *
 * Changes requested during a commit share the next one, because syncing to disk dominates the cost. The sync runs
 * outside the event loop: SQLite writes a commit to the write-ahead log without a sync (`synchronous = NORMAL` syncs
 * only around checkpoints), and the log is then synced here in a thread. A change is reported after that. A transaction
 * commits completely or not at all.
 */
import { chmodSync, close, closeSync, existsSync, openSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Sqlite from '@latchkey/system/sqlite'
import { KmdError } from '../errors.js'
import * as WriteAheadLog from './writeAheadLog.js'

/** A step of the schema, run once in a transaction. Never edit a released step. */
export type Migration = string

/** Called around transactions, to keep memory consistent with the file. */
export type StateListener = {
  /** A transaction begins. */
  onBegin?: () => void
  /** Called within the transaction, before it commits and before each turn of the event loop that it waits for. */
  beforeCommit?: () => void
  /** The transaction is on disk, and its changes are reported next. */
  onCommit?: () => void
  /** The transaction was rolled back. */
  onRollback?: () => void
  /** The file was reopened, so anything read from it may have changed. */
  onReopen?: () => void
}

export type StateDatabaseOptions = {
  file: string
  /** The whole schema: step n migrates version n to n + 1. */
  migrations: readonly Migration[]
  /** When to retry emptying the log, which a program reading the file prevents. @default 5000 */
  eraseAgainMs?: number
}

export type ChangeOptions = {
  /** Whether the change must also erase deleted data from the write-ahead log. @default false */
  erases?: boolean
}

type Change = {
  make: () => unknown
  erases: boolean
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

/** `isReady`: the log is extended, and the names of the files are on disk. */
type Opened = { readonly database: Sqlite.Database; readonly log: number; isReady: boolean }

/** Work that yields once per turn of the event loop. */
export type Steps = Iterator<void, void>

export class StateDatabase {
  readonly #options: StateDatabaseOptions
  readonly #statements = new Map<string, Sqlite.Statement>()
  readonly #listeners: StateListener[] = []
  #opened: Opened | undefined
  #batch: Change[] = []
  #running: Promise<void> | undefined
  /** The rest of the current transaction. */
  #rest: Steps[] = []
  #isErasureDue = false
  /** Set until the log no longer holds deleted data. */
  #eraser: NodeJS.Timeout | undefined
  /** No more changes are accepted. */
  #isClosed = false
  /** Pending changes are written, and the file is no longer opened. */
  #isEnded = false

  constructor(options: StateDatabaseOptions) {
    this.#options = options
  }

  /** Whether the file exists. Without it, there is nothing to read. */
  get exists(): boolean {
    return this.#opened !== undefined || existsSync(this.#options.file)
  }

  listen(listener: StateListener): void {
    this.#listeners.push(listener)
  }

  /**
   * Runs `make` in a transaction shared with concurrent changes, and resolves once it is on disk. Changes run in order
   * of arrival. If `make` throws before writing anything, only this change is rejected; otherwise, the whole
   * transaction is.
   *
   * @throws KmdError `state_not_written` if SQLite or the disk failed; or the error of a `make` that threw. Nothing of
   *   the transaction may be relied on.
   */
  change<T>(make: () => T, { erases = false }: ChangeOptions = {}): Promise<T> {
    if (this.#isClosed) return Promise.reject(stopping())
    return new Promise((resolve, reject) => {
      this.#batch.push({ make, erases, resolve: resolve as Change['resolve'], reject })
      this.#running ??= this.#run()
    })
  }

  /**
   * Extends the current transaction by work that is too long for one turn of the event loop. Call only within `change`.
   * The steps run after the changes of the transaction, one per turn, and commit with them or not at all. In between,
   * reads see the incomplete transaction.
   */
  extend(steps: Steps): void {
    this.#rest.push(steps)
  }

  /**
   * Returns a statement, prepared once. Call this again after every await, because the file may have been reopened in
   * the meantime.
   *
   * @throws KmdError `state_not_written` if the file cannot be opened, or was closed
   */
  statement(sql: string): Sqlite.Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const prepared = this.#open().database.prepare(sql)
    this.#statements.set(sql, prepared)
    return prepared
  }

  /**
   * Writes pending changes and closes the file. The file is then complete and its log is empty, unless another program
   * reads it.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#running
    this.#isEnded = true
    if (this.#opened !== undefined) WriteAheadLog.tryEmpty(this.#opened.database)
    await this.#closeFile()
  }

  async #run(): Promise<void> {
    // Changes of the same turn of the event loop are batched.
    await nextTurn()
    while (this.#batch.length > 0 || this.#isErasureDue) {
      const batch = this.#batch
      this.#batch = []
      if (batch.length > 0) await this.#commit(batch)
      if (this.#isErasureDue) await this.#eraseAgain()
    }
    this.#running = undefined
  }

  async #commit(batch: readonly Change[]): Promise<void> {
    let results: readonly Attempt[]
    try {
      if (this.#opened?.isReady !== true) await this.#openForWriting()
      results = await this.#transact(batch)
    } catch (error) {
      for (const { onRollback } of this.#listeners) onRollback?.()
      this.#restartLog()
      // Any other error is a defect, which no free disk space repairs: its own message is logged.
      return rejectAll(batch, Sqlite.isSqliteError(error) ? notWritten(error) : error)
    }
    try {
      if (batch.some(({ erases }) => erases)) await this.#eraseLog()
      await WriteAheadLog.sync(this.#opened!.log)
    } catch (error) {
      await this.#giveUp()
      return rejectAll(batch, notWritten(error))
    }
    for (const { onCommit } of this.#listeners) onCommit?.()
    for (const [index, { resolve, reject }] of batch.entries()) {
      const result = results[index]!
      if ('error' in result) reject(result.error)
      else resolve(result.value)
    }
  }

  async #transact(batch: readonly Change[]): Promise<readonly Attempt[]> {
    const { database } = this.#open()
    this.#rest = []
    for (const { onBegin } of this.#listeners) onBegin?.()
    try {
      database.exec('BEGIN IMMEDIATE')
      const results = batch.map(({ make }) => this.#attempt(make))
      for (const steps of this.#rest) {
        do {
          this.#settle()
          await nextTurn()
        } while (steps.next().done !== true)
      }
      this.#settle()
      database.exec('COMMIT')
      return results
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }

  #settle(): void {
    for (const { beforeCommit } of this.#listeners) beforeCommit?.()
  }

  /**
   * A rule that refuses fails only its own change. After a write, it would leave half of the change in the transaction.
   */
  #attempt(make: () => unknown): Attempt {
    const before = this.#writtenRows()
    try {
      return { value: make() }
    } catch (error) {
      if (Sqlite.isSqliteError(error) || this.#writtenRows() !== before) throw error
      return { error }
    }
  }

  /** Moves the whole log into the file and empties it, so that no deleted data is left. */
  async #eraseLog(): Promise<void> {
    const { database, log } = this.#opened!
    const isEmpty = WriteAheadLog.empty(database)
    await WriteAheadLog.extend(log)
    if (!isEmpty) this.#eraseLater()
  }

  /** Another program that reads the file can keep the log from being emptied, and so can a full disk. */
  #eraseLater(): void {
    clearTimeout(this.#eraser)
    this.#eraser = setTimeout(() => {
      // Between two transactions, because nothing may be written while the log is extended.
      this.#isErasureDue = true
      this.#running ??= this.#run()
    }, this.#options.eraseAgainMs ?? 5_000).unref()
  }

  async #eraseAgain(): Promise<void> {
    this.#isErasureDue = false
    if (this.#opened === undefined) return
    await this.#eraseLog().catch(() => this.#eraseLater())
  }

  /** The log could not be written: on a full disk it has no room beyond its end, but may have room at its beginning. */
  #restartLog(): void {
    try {
      this.#opened?.database.exec('PRAGMA wal_checkpoint(RESTART)')
    } catch {
      // The file has no room either.
    }
  }

  #writtenRows(): number {
    return (this.statement('SELECT total_changes() AS count').get() as { count: number }).count
  }

  /**
   * The log is not on disk, and a second sync that succeeds would not prove that it is: Linux reports an error once. So
   * the file is reopened with a new log.
   */
  async #giveUp(): Promise<void> {
    await this.#closeFile().catch(() => {})
    for (const { onReopen } of this.#listeners) onReopen?.()
  }

  async #closeFile(): Promise<void> {
    const opened = this.#opened
    if (opened === undefined) return
    clearTimeout(this.#eraser)
    this.#statements.clear()
    this.#opened = undefined
    await promisify(close)(opened.log)
    Sqlite.close(opened.database)
  }

  /**
   * Opens the file in a separate turn, and syncs outside the event loop, so that the first transaction after a start
   * does not block it longer than others.
   */
  async #openForWriting(): Promise<void> {
    const opened = this.#open()
    await WriteAheadLog.extend(opened.log)
    await AtomicFile.syncDirectory(this.#options.file)
    opened.isReady = true
  }

  #open(): Opened {
    if (this.#opened !== undefined) return this.#opened
    if (this.#isEnded) throw stopping()
    const { file, migrations } = this.#options
    try {
      const { isLogEmpty, ...opened } = openFile(file, migrations)
      this.#opened = opened
      if (!isLogEmpty) this.#eraseLater()
      return opened
    } catch (error) {
      throw notWritten(error)
    }
  }
}

function openFile(file: string, migrations: readonly Migration[]): Opened & { isLogEmpty: boolean } {
  closeSync(openSync(file, 'a', 0o600))
  for (const each of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(each)) chmodSync(each, 0o600)
  const database = Sqlite.open(file)
  try {
    database.exec(settings)
    migrate(database, file, migrations)
    // The daemon may have been killed before it emptied the log.
    const isLogEmpty = WriteAheadLog.tryEmpty(database)
    const log = openSync(`${file}-wal`, 'r+')
    return { database, log, isLogEmpty, isReady: false }
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Moving the log into the file blocks the event loop, and writes each page once, no matter how often it was changed.
 * Doing this after 4000 pages (16 MiB) instead of 1000 reduces both. The cache, in KiB, holds the pages that hundreds
 * of agents write to.
 */
const settings = `
  PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON;
  PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -8000;
`

type Attempt = { value: unknown } | { error: unknown }

function rejectAll(batch: readonly Change[], error: unknown): void {
  for (const { reject } of batch) reject(error)
}

function stopping(): KmdError {
  return new KmdError('state_not_written', { message: 'the daemon is stopping' })
}

function notWritten(error: unknown): KmdError {
  return error instanceof KmdError ? error : new KmdError('state_not_written', { cause: error })
}

function migrate(database: Sqlite.Database, file: string, migrations: readonly Migration[]): void {
  database.exec('BEGIN IMMEDIATE')
  const { user_version: found } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (found > migrations.length) {
    throw new KmdError('state_not_written', { message: `${file} was written by a later version of Latchkey` })
  }
  for (const step of migrations.slice(found)) database.exec(step)
  // Writing the same version again would cost a checkpoint, with two syncs, at every start.
  if (found < migrations.length) database.exec(`PRAGMA user_version = ${migrations.length}`)
  database.exec('COMMIT')
}
