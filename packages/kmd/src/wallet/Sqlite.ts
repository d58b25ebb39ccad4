/**
 * Configures SQLite for wallet files. The settings are the reference's (rollback journal, secure delete), except for
 * `synchronous`: the reference syncs the database but not the directory. A power failure can then restore a journal
 * whose removal was the commit, which rolls the database back to its earlier state.
 *
 * No statement here waits for a lock, because waiting inside SQLite would block the whole daemon. `retryWhileLocked`
 * waits outside SQLite.
 */
import { pathToFileURL } from 'node:url'
import * as Sqlite from '@latchkey/system/sqlite'
import { KmdError } from '../errors.js'

export type Database = Sqlite.Database
export type Statement = Sqlite.Statement
export const { close, isDiskFull, isLocked, isSqliteError, open, SqliteError } = Sqlite

/** How long an operation waits for another program that holds a database. Same as the reference. */
const lockWaitMs = 5_000
const lockPollMs = 20

/** SQLite rejects longer values. The file check has limits for each value. */
const maxValueBytes = 4 * 2 ** 20

/** Reads the schema, so call this after checking the file. */
export function configure(database: Database): void {
  database.exec(
    'PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA synchronous = EXTRA',
  )
  // Missing in Node 22.
  if (database.limits !== undefined) database.limits.length = maxValueBytes
}

/**
 * Empties the journal after a transaction instead of removing it, which saves the file system the work of a new file
 * for each. The journal is synced afterwards, as the directory is after a removal. A journal is created with the first
 * change.
 */
export function keepJournal(database: Database): void {
  database.exec('PRAGMA journal_mode = TRUNCATE')
}

/** Removes the empty journal before the database is closed, unless another program uses the database. */
export function removeJournal(database: Database): void {
  try {
    database.exec('PRAGMA journal_mode = DELETE')
  } catch (error) {
    // An empty journal is harmless.
    if (!isSqliteError(error)) throw error
  }
}

/** Opens an existing database. By default, SQLite would create a file that another program has just removed. */
export function openExisting(path: string): Database {
  return open(`${pathToFileURL(path).href}?mode=rw`)
}

/**
 * Runs `work` while no other program writes to the database, after rolling back any unfinished transaction. To do so,
 * SQLite reads the first page but not the schema.
 */
export function whileReadLocked<T>(database: Database, work: () => T): T {
  try {
    database.exec('BEGIN; PRAGMA user_version')
    return work()
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK')
  }
}

/** The reference sends only `database error`. */
const diskFull = 'database error: the disk is full; free some space and repeat the request'

/** Translates an SQLite error to the reference's error; returns any other error unchanged. */
export function translate(error: unknown): unknown {
  if (isLocked(error)) return new KmdError('database_locked', { cause: error })
  if (isDiskFull(error)) return new KmdError('database', { message: diskFull, cause: error })
  if (isSqliteError(error)) return new KmdError('database', { cause: error })
  return error
}

/** Runs `work`, and retries for up to five seconds while another program holds the database. */
export async function retryWhileLocked<T>(work: () => T | Promise<T>): Promise<T> {
  return attemptWhileLocked(work)
}

/**
 * Like {@link retryWhileLocked}, but returns a synchronous result without a promise, because each extra turn of the
 * event loop measurably lowers the signing rate.
 */
export function attemptWhileLocked<T>(work: () => T | Promise<T>): T | Promise<T> {
  let result: T | Promise<T>
  try {
    result = work()
  } catch (error) {
    return retry(work, error)
  }
  return result instanceof Promise ? result.catch((error: unknown) => retry(work, error)) : result
}

async function retry<T>(work: () => T | Promise<T>, first: unknown): Promise<T> {
  const giveUpAt = performance.now() + lockWaitMs
  for (let failure = first; ; ) {
    if (!isLocked(failure) || performance.now() >= giveUpAt) throw translate(failure)
    await new Promise((resolve) => setTimeout(resolve, lockPollMs))
    try {
      return await work()
    } catch (error) {
      failure = error
    }
  }
}
