/** Opens wallet databases after checking the whole file, and checks the file again if another program changed it. */
import { type Stats, statSync } from 'node:fs'
import { KmdError } from '../errors.js'
import * as Sqlite from './Sqlite.js'
import * as WalletFormat from './WalletFormat.js'

/** `damage` describes the unreadable parts. The text completes a sentence that starts with the file name. */
export type CheckedDatabase = { database: Sqlite.Database; status: Stats; damage: string | undefined }

/**
 * Opens a database if it is a wallet.
 *
 * @throws KmdError with the code `database`; its cause is a DatabaseFormatError if the file is rejected. Throws
 * SQLite's error if another program holds the database.
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
 * Checks the file of an open database again and returns its damage.
 *
 * @throws as `open`.
 */
export function checkAgain(path: string, database: Sqlite.Database): string | undefined {
  return withFile(path, (file) => check(file, database).damage)
}

/**
 * Opens the file separately from SQLite. `work` is synchronous and leaves no transaction open, because closing a file
 * releases every lock that the process has on it.
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
