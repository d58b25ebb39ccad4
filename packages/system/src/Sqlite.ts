/**
 * SQLite with the interface of `node:sqlite`: the built-in module if Node has a sufficient one, and otherwise the same
 * interface from @photostructure/sqlite, an optional peer dependency.
 */
import { createRequire } from 'node:module'
import { LatchkeyError } from '@latchkey/algorand'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import { errors } from './errors.js'

/** An open database. */
export type Database = DatabaseSyncInstance
/** A prepared statement. */
export type Statement = StatementSyncInstance

const require = createRequire(import.meta.url)
type Module = { DatabaseSync: new (location: string | URL, options?: OpenOptions) => Database }
type Loaded = Module & { isBuiltIn: boolean }
let loaded: Loaded | undefined

/** Options of {@link open}. */
export type OpenOptions = {
  /** Opens an existing database for reading only. @default false */
  readonly readOnly?: boolean
}

/**
 * Opens a database, creating the file if it is missing. The first call loads SQLite.
 *
 * @param location a path, `:memory:`, or a `file:` URL with parameters of SQLite.
 * @throws SqliteError with the code `sqlite_missing`; errors of SQLite itself satisfy {@link isSqliteError}.
 */
export function open(location: string | URL, options: OpenOptions = {}): Database {
  loaded ??= load()
  return new loaded.DatabaseSync(location, options)
}

function load(): Loaded {
  const builtIn = loadBuiltIn()
  if (builtIn !== undefined) return { DatabaseSync: builtIn.DatabaseSync, isBuiltIn: true }
  try {
    const { DatabaseSync } = require('@photostructure/sqlite') as Module
    return { DatabaseSync, isBuiltIn: false }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    throw new SqliteError('sqlite_missing', error)
  }
}

/** Node has the module without a flag since 22.13, and everything used here since 22.16. */
function loadBuiltIn(): Module | undefined {
  let module: Module
  try {
    module = withoutExperimentalWarning(() => require('node:sqlite') as Module)
  } catch {
    return undefined
  }
  const probe = new module.DatabaseSync(':memory:')
  const suits = 'isTransaction' in probe
  probe.close()
  return suits ? module : undefined
}

/** Node 22 prints a warning about its built-in module on the stderr of every command. */
function withoutExperimentalWarning<T>(work: () => T): T {
  const { emitWarning } = process
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (rest[0] !== 'ExperimentalWarning') Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    return work()
  } finally {
    process.emitWarning = emitWarning
  }
}

let closedSinceCollection = 0
let collectGarbage: (() => void) | undefined
const closesPerCollection = 32

/**
 * Sets a garbage collector that `close` calls after every 32 databases. @photostructure/sqlite returns a file to the
 * system only when the last statement on it is collected, and nothing else triggers that. For programs that open and
 * close many databases.
 *
 * @default none: the runtime decides when to collect
 */
export function collectWith(collector: () => void): void {
  collectGarbage = collector
}

/** Closes a database. */
export function close(database: Database): void {
  database.close()
  if (loaded?.isBuiltIn === true || ++closedSinceCollection < closesPerCollection) return
  closedSinceCollection = 0
  collectGarbage?.()
}

const busy = 5
const locked = 6

/** Whether the error means that another connection holds the database. */
export function isLocked(error: unknown): boolean {
  const { errcode, message } = (error ?? {}) as { errcode?: unknown; message?: unknown }
  if (typeof errcode === 'number') return (errcode & 0xff) === busy || (errcode & 0xff) === locked
  // @photostructure/sqlite sets no code when `all` fails, so only the text of SQLite is available.
  return isSqliteError(error) && typeof message === 'string' && /^database (table )?is locked/.test(message)
}

/** Whether SQLite raised the error because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  const { message } = (error ?? {}) as { message?: unknown }
  return isSqliteError(error) && typeof message === 'string' && /^database or disk is full/.test(message)
}

/** Whether SQLite raised the error. */
export function isSqliteError(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ERR_SQLITE_ERROR'
}

/** SQLite cannot be used. */
export class SqliteError extends LatchkeyError<'sqlite_missing'> {
  override name = 'SqliteError'

  constructor(code: 'sqlite_missing', cause: unknown) {
    super(code, errors[code].message, { hint: errors[code].hint, cause })
  }
}
