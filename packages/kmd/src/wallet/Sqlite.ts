/**
 * SQLite for wallet files. Settings are the reference's (rollback journal, secure delete), but for `synchronous`: the
 * reference syncs the database and not the directory, so that a power failure can bring back a journal whose removal
 * was the commit, and with it the state before.
 *
 * No statement here waits for a lock: waiting inside SQLite would stop the whole daemon. `retryWhileLocked` waits
 * outside.
 */
import { pathToFileURL } from 'node:url'
import * as Sqlite from '@latchkey/system/sqlite'
import { KmdError } from '../errors.js'

export type Database = Sqlite.Database
export type Statement = Sqlite.Statement
export const { close, isDiskFull, isLocked, isSqliteError, open, SqliteError } = Sqlite

/** How long an operation waits for another program that holds a database, as the reference does. */
const lockWaitMs = 5_000
const lockPollMs = 20

/** Longer values are refused by SQLite; the check of the file knows the limits of each. */
const maxValueBytes = 4 * 2 ** 20

/** Reads the schema: call it after the file was checked. */
export function configure(database: Database): void {
  database.exec(
    'PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA synchronous = EXTRA',
  )
  // Node 22 does not have it.
  if (database.limits !== undefined) database.limits.length = maxValueBytes
}

/** Opens a database that exists. SQLite itself would create a file that another program has just removed. */
export function openExisting(path: string): Database {
  return open(`${pathToFileURL(path).href}?mode=rw`)
}

/**
 * Runs `work` while no other program writes to the database; a transaction that one left behind is rolled back before.
 * SQLite reads the first page for it, and not the schema.
 */
export function whileReadLocked<T>(database: Database, work: () => T): T {
  try {
    database.exec('BEGIN; PRAGMA user_version')
    return work()
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK')
  }
}

/** The reference says `database error` alone. */
const diskFull = 'database error: the disk is full; free some space and repeat the request'

/** An error of SQLite in the words of the reference; any other error as it is. */
export function translate(error: unknown): unknown {
  if (isLocked(error)) return new KmdError('database_locked', { cause: error })
  if (isDiskFull(error)) return new KmdError('database', { message: diskFull, cause: error })
  if (isSqliteError(error)) return new KmdError('database', { cause: error })
  return error
}

/** Runs `work`. While another program holds the database, tries again for up to five seconds. */
export async function retryWhileLocked<T>(work: () => T | Promise<T>): Promise<T> {
  return attemptWhileLocked(work)
}

/**
 * As {@link retryWhileLocked}; what `work` does at once is no promise, because each turn of the queue shows at the rate of
 * signatures.
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
