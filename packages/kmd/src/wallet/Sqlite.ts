/**
 * SQLite behind the `node:sqlite` interface: the built-in module where it is stable, the same interface from
 * @photostructure/sqlite on older Nodes. Settings are the reference's: rollback journal, full sync, secure delete.
 *
 * No statement here waits for a lock: waiting inside SQLite would stop the whole daemon. `retryWhileLocked` waits
 * outside.
 */
import { createRequire } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import { KmdError } from '../Errors.js'

export type Database = DatabaseSyncInstance
export type Statement = StatementSyncInstance

const nodeMajor = Number(process.versions.node.split('.')[0])
const builtIn = nodeMajor >= 24
const { DatabaseSync } = createRequire(import.meta.url)(builtIn ? 'node:sqlite' : '@photostructure/sqlite') as {
  DatabaseSync: new (location: string) => Database
}

/** How long an operation waits for another program that holds a database, as the reference does. */
const lockWaitMs = 5_000
const lockPollMs = 20

export function open(location: string): Database {
  return new DatabaseSync(location)
}

export function configure(database: Database): void {
  database.exec('PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY')
}

let closedSinceCollection = 0

/**
 * Closes a database. @photostructure/sqlite gives the file back only when the last statement is collected, and
 * nothing presses the collector to do so; after many closings it is asked.
 */
export function close(database: Database): void {
  database.close()
  if (builtIn || ++closedSinceCollection < 64) return
  closedSinceCollection = 0
  collect ??= exposeCollector()
  collect()
}

let collect: (() => void) | undefined

function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

const busy = 5
const locked = 6

export function isLocked(error: unknown): boolean {
  const { errcode, message } = (error ?? {}) as { errcode?: unknown; message?: unknown }
  if (typeof errcode === 'number') return (errcode & 0xff) === busy || (errcode & 0xff) === locked
  // @photostructure/sqlite gives no code where `all` fails.
  return isSqliteError(error) && typeof message === 'string' && /^database (table )?is locked/.test(message)
}

export function isSqliteError(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ERR_SQLITE_ERROR'
}

/** An error of SQLite in the words of the reference; any other error as it is. */
export function translate(error: unknown): unknown {
  if (isLocked(error)) return new KmdError('databaseLocked', { cause: error })
  if (isSqliteError(error)) return new KmdError('database', { cause: error })
  return error
}

/**
 * Runs `work` at once. Where another program holds the database, tries again until it lets go or five seconds have
 * passed. The usual case costs no promise.
 */
export function retryWhileLocked<T>(work: () => T): T | Promise<T> {
  try {
    return work()
  } catch (error) {
    if (!isLocked(error)) throw translate(error)
    return retryLater(work)
  }
}

async function retryLater<T>(work: () => T): Promise<T> {
  const giveUpAt = performance.now() + lockWaitMs
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, lockPollMs))
    try {
      return work()
    } catch (error) {
      if (!isLocked(error) || performance.now() >= giveUpAt) throw translate(error)
    }
  }
}
