/** The audit log of a data directory without its daemon: read only, also while the daemon writes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as Sqlite from '@latchkey/system/sqlite'
import type { Checkpoint } from './AuditChain.js'
import * as HeadCopy from './HeadCopy.js'
import { type Found, type LogReader, type Query, searchLog } from './searchLog.js'
import { type Verification, verifyLog } from './verifyLog.js'

/** The name of the database in a data directory. */
const databaseName = 'latchkey_state.db'

/** Options of {@link AuditFile.verify}. */
export type VerifyFileOptions = {
  /** Hashes from elsewhere, such as a ledger. */
  readonly checkpoints?: readonly Checkpoint[] | undefined
  /** Called now and then with the number of records that were checked. */
  readonly onProgress?: ((number: number) => void) | undefined
}

/** A log that is open for reading. */
export class AuditFile {
  readonly #database: Sqlite.Database
  readonly #reader: LogReader
  readonly #copy: HeadCopy.Copy

  private constructor(database: Sqlite.Database, copy: HeadCopy.Copy) {
    this.#database = database
    this.#copy = copy
    const statements = new Map<string, Sqlite.Statement>()
    this.#reader = {
      statement: (sql) => {
        const known = statements.get(sql) ?? database.prepare(sql)
        statements.set(sql, known)
        return known
      },
    }
  }

  /** Whether a data directory has a log. */
  static exists(dataDir: string): boolean {
    return existsSync(join(dataDir, databaseName))
  }

  /**
   * The number of the last record by the copy of the head, which is a file of its own: without a log it says that there was one.
   * 0 if there is no copy, or none that can be read.
   */
  static notedRecords(dataDir: string): number {
    const copy = HeadCopy.read(join(dataDir, HeadCopy.fileName))
    return typeof copy === 'object' ? copy.number : 0
  }

  /**
   * Opens the log of a data directory as it is now: what the daemon adds later is not seen.
   *
   * @throws the error of SQLite if it cannot be opened, also for a directory in which it cannot make its files: that is no
   * fault of the log
   */
  static open(dataDir: string): AuditFile {
    // Before the log: it is never newer then.
    const copy = HeadCopy.read(join(dataDir, HeadCopy.fileName))
    const database = Sqlite.open(join(dataDir, databaseName), { readOnly: true })
    try {
      database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; BEGIN')
      requireReadable(database)
      return new AuditFile(database, copy)
    } catch (error) {
      Sqlite.close(database)
      throw error
    }
  }

  /** Recomputes all of it. */
  verify({ checkpoints, onProgress }: VerifyFileOptions = {}): Promise<Verification> {
    return verifyLog(this.#reader, { copy: this.#copy, checkpoints, onProgress })
  }

  /** Finds records, newest first, or from `afterNumber` on. */
  search(query: Query): Promise<Found> {
    return searchLog(this.#reader, query)
  }

  close(): void {
    Sqlite.close(this.#database)
  }
}

/** Reads for the first time. What is wrong with the file itself, `verify` finds and describes. */
function requireReadable(database: Sqlite.Database): void {
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
  } catch (error) {
    if (/readonly database|unable to open/.test((error as Error).message)) throw error
  }
}
