/** Opens the databases of the stores. */
import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import * as Sqlite from '@latchkey/system/sqlite'
import { naming } from '../StoreError.js'
import { hasStore, type StoreKind } from './StoreFile.js'

export { type Database, open as openAny, SqliteError } from '@latchkey/system/sqlite'
export { hasStore, type StoreKind } from './StoreFile.js'

/** @throws StoreError that names the file */
export function open(path: string): Sqlite.Database {
  return naming(path, () => {
    const database = Sqlite.open(path)
    try {
      // Synced before a response, so that a crash loses no record. Other processes may use the file. The timeout comes
      // first, because setting the journal mode takes the lock.
      database.exec('PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
    } catch (error) {
      database.close()
      throw error
    }
    return database
  })
}

/**
 * Opens the file of a store that only its owner can read. SQLite itself would create it readable by all. A file that is
 * not a store of this kind stays as it is.
 *
 * @throws StoreError that names the file
 */
export function openPrivate(path: string, kind: StoreKind): Sqlite.Database {
  // Throws if SQLite is missing, before a file is created.
  Sqlite.open(':memory:').close()
  hasStore(path, kind)
  naming(path, () => {
    // Closing a file releases the locks that this process has on it, so an existing one is not opened here.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
    // Files that a process left. SQLite creates them with the mode of the database file.
    for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600)
  })
  return open(path)
}
