/**
 * The daemon's own state: agents, their reservations, approvals and the audit log, in one SQLite file of its own beside the
 * wallets. The file is created with the first write. The daemon's lock on the data directory makes it the only process that
 * writes.
 *
 * What is asked for while one commit is under way shares the next: the sync to disk is what costs. A change is reported
 * once it is on the disk, and a transaction commits whole or not at all.
 */
import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Sqlite from '@latchkey/system/sqlite'
import { KmdError } from '../errors.js'

/** One step of the schema, run once in a transaction. Never edit a step that was released. */
export type Migration = string

export type StateDatabaseOptions = {
  file: string
  /** The whole schema: step n brings version n to n + 1. */
  migrations: readonly Migration[]
  /** Called after a commit, before its changes are reported. */
  onCommit?: () => void
  /** Called after a commit failed and was rolled back: what is in memory no longer agrees with the file. */
  onRollback?: () => void
}

type Change = { make: () => unknown; resolve: (result: unknown) => void; reject: (error: unknown) => void }

export class StateDatabase {
  readonly #options: StateDatabaseOptions
  readonly #statements = new Map<string, Sqlite.Statement>()
  #database: Sqlite.Database | undefined
  #batch: Change[] = []
  #isClosed = false

  constructor(options: StateDatabaseOptions) {
    this.#options = options
  }

  /** Whether there is a file. Without one, there is nothing to read. */
  get exists(): boolean {
    return this.#database !== undefined || existsSync(this.#options.file)
  }

  /**
   * Runs `make` in a transaction that other changes of the same time share, and resolves once that is on the disk. Changes run
   * in the order in which they came. An error that `make` throws rejects this change alone, so it must throw before it
   * writes.
   *
   * @throws KmdError `state_not_written` if the transaction failed; nothing of it was kept.
   */
  change<T>(make: () => T): Promise<T> {
    if (this.#isClosed) return Promise.reject(new KmdError('state_not_written', { message: 'the daemon is stopping' }))
    return new Promise((resolve, reject) => {
      if (this.#batch.length === 0) setImmediate(() => this.#commit())
      this.#batch.push({ make, resolve: resolve as Change['resolve'], reject })
    })
  }

  /** A statement, prepared once. */
  statement(sql: string): Sqlite.Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const prepared = this.#open().prepare(sql)
    this.#statements.set(sql, prepared)
    return prepared
  }

  close(): void {
    this.#commit()
    this.#isClosed = true
    this.#statements.clear()
    this.#database?.close()
    this.#database = undefined
  }

  #commit(): void {
    const batch = this.#batch
    if (batch.length === 0) return
    this.#batch = []
    try {
      const results = this.#transact(() => batch.map(attempt))
      this.#options.onCommit?.()
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index]!
        if ('error' in result) reject(result.error)
        else resolve(result.value)
      }
    } catch (error) {
      this.#options.onRollback?.()
      const failure = new KmdError('state_not_written', { cause: error })
      for (const { reject } of batch) reject(failure)
    }
  }

  #transact<T>(work: () => T): T {
    const database = this.#open()
    try {
      database.exec('BEGIN IMMEDIATE')
      const result = work()
      database.exec('COMMIT')
      return result
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }

  #open(): Sqlite.Database {
    if (this.#database !== undefined) return this.#database
    const { file, migrations } = this.#options
    const isNew = !existsSync(file)
    closeSync(openSync(file, 'a', 0o600))
    for (const each of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(each)) chmodSync(each, 0o600)
    const database = Sqlite.open(file)
    try {
      database.exec(
        'PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = EXTRA; PRAGMA locking_mode = NORMAL',
      )
      migrate(database, file, migrations)
      if (isNew) AtomicFile.syncDirectorySync(dirname(file))
    } catch (error) {
      database.close()
      throw error
    }
    this.#database = database
    return database
  }
}

type Attempt = { value: unknown } | { error: unknown }

/** An error of SQLite ends the whole transaction; one of a rule is that of its change. */
function attempt({ make }: Change): Attempt {
  try {
    return { value: make() }
  } catch (error) {
    if (Sqlite.isSqliteError(error)) throw error
    return { error }
  }
}

function migrate(database: Sqlite.Database, file: string, migrations: readonly Migration[]): void {
  database.exec('BEGIN IMMEDIATE')
  const { user_version: found } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (found > migrations.length) {
    throw new KmdError('state_not_written', { message: `${file} was written by a later version of Latchkey` })
  }
  for (const step of migrations.slice(found)) database.exec(step)
  database.exec(`PRAGMA user_version = ${migrations.length}; COMMIT;`)
}
