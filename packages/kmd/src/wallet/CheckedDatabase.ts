/**
 * Opens wallet databases after checking the whole file, and checks the file again if another program changed it. Also
 * creates new ones.
 */
import { closeSync, existsSync, openSync, renameSync, rmSync, type Stats, statSync } from 'node:fs'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { KmdError } from '../errors.js'
import * as Sqlite from './Sqlite.js'
import * as WalletFormat from './WalletFormat.js'
import { driverName, driverVersion, type Encrypted, type Metadata } from './WalletFormat.js'

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

/**
 * Writes a new wallet. The file gets its final name when it is complete, so that no partial wallet is ever listed.
 * Once this returns, the file survives a power failure.
 */
export function create(path: string, metadata: Metadata, encrypted: Encrypted): void {
  if (existsSync(path)) throw Object.assign(new Error(`${path} exists`), { code: 'EEXIST' })
  const temporaryPath = `${path}${unfinishedSuffix}`
  removeUnfinished(temporaryPath)
  try {
    // Created empty here with private permissions, because SQLite would make it readable for everyone.
    closeSync(openSync(temporaryPath, 'wx', 0o600))
    writeNew(temporaryPath, metadata, encrypted)
    renameSync(temporaryPath, path)
  } catch (error) {
    removeUnfinished(temporaryPath)
    throw error
  }
  AtomicFile.syncDirectorySync(path)
}

/**
 * The suffix of a file that is being created. No daemon reads such files and no user chooses such names, so leftovers
 * can be removed.
 */
export const unfinishedSuffix = '.latchkey-unfinished'

export function removeUnfinished(temporaryPath: string): void {
  for (const suffix of ['', '-journal']) rmSync(`${temporaryPath}${suffix}`, { force: true })
}

/** Uses SQL text, because a prepared statement would keep the file open until garbage collection. */
function writeNew(path: string, { id, name }: Metadata, encrypted: Encrypted): void {
  const database = Sqlite.openExisting(path)
  const boxes = [encrypted.masterKey, encrypted.masterDerivationKey, encrypted.maxKeyIndex]
  const blobs = [id, name, ...boxes].map((bytes) => `x'${Buffer.from(bytes).toString('hex')}'`)
  try {
    Sqlite.configure(database)
    const insert = `INSERT INTO metadata VALUES ('${driverName}', ${driverVersion}, ${blobs.join(', ')});`
    database.exec(`BEGIN EXCLUSIVE;${WalletFormat.schema}${insert}COMMIT`)
  } finally {
    database.close()
  }
}
