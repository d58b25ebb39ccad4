/**
 * SQLite for wallet files. Settings are the reference's: rollback journal, full sync, secure delete.
 *
 * No statement here waits for a lock: waiting inside SQLite would stop the whole daemon. `retryWhileLocked` waits
 * outside.
 */
import * as Sqlite from '@latchkey/system/sqlite'
import { KmdError } from '../errors.js'

export type Database = Sqlite.Database
export type Statement = Sqlite.Statement
export const { close, isLocked, isSqliteError, open } = Sqlite

/** How long an operation waits for another program that holds a database, as the reference does. */
const lockWaitMs = 5_000
const lockPollMs = 20

export function configure(database: Database): void {
  database.exec('PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY')
}

/** An error of SQLite in the words of the reference; any other error as it is. */
export function translate(error: unknown): unknown {
  if (isLocked(error)) return new KmdError('database_locked', { cause: error })
  if (isSqliteError(error)) return new KmdError('database', { cause: error })
  return error
}

/** Runs `work`. While another program holds the database, tries again for up to five seconds. */
export async function retryWhileLocked<T>(work: () => T): Promise<T> {
  const giveUpAt = performance.now() + lockWaitMs
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isLocked(error) || performance.now() >= giveUpAt) throw translate(error)
    }
    await new Promise((resolve) => setTimeout(resolve, lockPollMs))
  }
}
