/** Opens wallet databases for use: only after all of the file was checked, and again when another program changed it. */
import { type Stats, statSync } from 'node:fs'
import { KmdError } from '../errors.js'
import * as Sqlite from './Sqlite.js'
import * as WalletFormat from './WalletFormat.js'

/** `damage` is what of it cannot be read, in words that follow the name of the file. */
export type CheckedDatabase = { database: Sqlite.Database; status: Stats; damage: string | undefined }

/**
 * Opens a database for use, if it is a wallet.
 *
 * @throws KmdError with the code `database`; its cause is a DatabaseFormatError if the file is refused. Or the error of
 *   SQLite that another program holds it.
 */
export function open(path: string): CheckedDatabase {
  return withFile(path, (file) => {
    const database = Sqlite.openExisting(path)
    try {
      const { damage } = check(file, database)
      const { status } = file
      if (statSync(path).ino !== status.ino) throw new Error('the wallet file was replaced while it was opened')
      Sqlite.configure(database)
      return { database, status, damage }
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/**
 * Checks the file of an open database again, and returns its damage.
 *
 * @throws as `open`.
 */
export function checkAgain(path: string, database: Sqlite.Database): string | undefined {
  return withFile(path, (file) => check(file, database).damage)
}

/**
 * Opens the file at the path beside SQLite. All of `work` is synchronous, and no transaction is open at its end: closing
 * a file ends every lock that the process has on it.
 */
function withFile<T>(path: string, work: (file: WalletFormat.OpenedFile) => T): T {
  let file: WalletFormat.OpenedFile | undefined
  try {
    file = WalletFormat.openFile(path)
    return work(file)
  } catch (error) {
    if (Sqlite.isLocked(error)) throw error
    throw new KmdError('database', { cause: error })
  } finally {
    file?.close()
  }
}

function check(file: WalletFormat.OpenedFile, database: Sqlite.Database): { damage?: string } {
  return Sqlite.whileReadLocked(database, () => WalletFormat.inspect(file, { keys: true }))
}
