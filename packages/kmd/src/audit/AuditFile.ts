/** Reads the audit log of a data directory without its daemon, even while the daemon writes. Read-only. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as Sqlite from '@latchkey/system/sqlite'
import type { Checkpoint, CopiedHead } from './AuditChain.js'
import { HeadCopy } from './AuditLog.js'
import { type Found, type LogReader, type Query, searchLog } from './searchLog.js'
import { type Verification, verifyLog } from './verifyLog.js'

/** The name of the database in a data directory. */
const databaseName = 'latchkey_state.db'

/** Options of {@link AuditFile.verify}. */
export type VerifyFileOptions = {
  /** Hashes from other sources, such as a ledger. */
  readonly checkpoints?: readonly Checkpoint[] | undefined
  /** Called periodically with the number of records checked. */
  readonly onProgress?: ((number: number) => void) | undefined
}

/** A log opened for reading. */
export class AuditFile {
  readonly #database: Sqlite.Database
  readonly #reader: LogReader
  readonly #copy: CopiedHead

  private constructor(database: Sqlite.Database, copy: CopiedHead) {
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
   * The number of the last record according to the copy of the head. The copy is a separate file, so it shows that
   * there was a log even if the log is gone. 0 if there is no readable copy.
   */
  static notedRecords(dataDir: string): number {
    const copy = HeadCopy.read(join(dataDir, HeadCopy.fileName))
    return typeof copy === 'object' ? copy.number : 0
  }

  /**
   * Opens the current log of a data directory. Later records are not seen.
   *
   * @throws SQLite's error if the log cannot be opened, including for a directory where SQLite cannot create its files:
   * that is not a fault of the log
   */
  static open(dataDir: string): AuditFile {
    // Read before the log, so the copy is never newer.
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

  /** Recomputes and verifies the whole log. */
  verify({ checkpoints, onProgress }: VerifyFileOptions = {}): Promise<Verification> {
    return verifyLog(this.#reader, { copy: this.#copy, checkpoints, onProgress })
  }

  /** Finds records, newest first, or oldest first if `afterNumber` is set. */
  search(query: Query): Promise<Found> {
    return searchLog(this.#reader, query)
  }

  close(): void {
    Sqlite.close(this.#database)
  }
}

/** Makes the first read. `verify` finds and describes problems of the file itself. */
function requireReadable(database: Sqlite.Database): void {
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
  } catch (error) {
    if (/readonly database|unable to open/.test((error as Error).message)) throw error
  }
}
