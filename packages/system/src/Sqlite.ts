/**
 * SQLite behind the `node:sqlite` interface: the built-in module where it is stable, the same interface from
 * @photostructure/sqlite, an optional peer dependency, on older Nodes.
 */
import { createRequire } from 'node:module'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'

export type Database = DatabaseSyncInstance
export type Statement = StatementSyncInstance

const require = createRequire(import.meta.url)
/** Since Node 24 `node:sqlite` is there without a flag or a warning. */
const isBuiltIn = Number(process.versions.node.split('.')[0]) >= 24

let loaded: { DatabaseSync: new (location: string) => Database } | undefined

/** Opens a database, creating the file if it is missing. Loads SQLite on the first call. */
export function open(location: string): Database {
  loaded ??= require(isBuiltIn ? 'node:sqlite' : '@photostructure/sqlite') as NonNullable<typeof loaded>
  return new loaded.DatabaseSync(location)
}

let closedSinceCollection = 0
let collectGarbage: (() => void) | undefined

/**
 * Lets `close` ask for a garbage collection now and then. @photostructure/sqlite returns a file to the system only when
 * the last statement on it is collected, and nothing presses the collector to do so. A program that opens and closes
 * many databases passes its collector here; the default is to leave that to the runtime.
 */
export function collectWith(collector: () => void): void {
  collectGarbage = collector
}

/** Closes a database. */
export function close(database: Database): void {
  database.close()
  if (isBuiltIn || ++closedSinceCollection < 64) return
  closedSinceCollection = 0
  collectGarbage?.()
}

const busy = 5
const locked = 6

/** Whether the error says that another connection holds the database. */
export function isLocked(error: unknown): boolean {
  const { errcode, message } = (error ?? {}) as { errcode?: unknown; message?: unknown }
  if (typeof errcode === 'number') return (errcode & 0xff) === busy || (errcode & 0xff) === locked
  // @photostructure/sqlite gives no code where `all` fails.
  return isSqliteError(error) && typeof message === 'string' && /^database (table )?is locked/.test(message)
}

/** Whether SQLite raised the error. */
export function isSqliteError(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ERR_SQLITE_ERROR'
}
