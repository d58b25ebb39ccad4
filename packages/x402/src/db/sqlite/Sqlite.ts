/** Opens the databases of the stores. */
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import * as Sqlite from '@latchkey/system/sqlite'
import { naming, StoreError } from '../StoreError.js'

export { type Database, open as openAny, SqliteError } from '@latchkey/system/sqlite'

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
 * Opens a file that only its owner can read. SQLite itself would create it readable by all.
 *
 * @throws StoreError that names the file
 */
export function openPrivate(path: string): Sqlite.Database {
  // Throws if SQLite is missing, before a file is created.
  Sqlite.open(':memory:').close()
  naming(path, () => {
    // A device would lose every record, and root would change the mode of /dev/null.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
      throw new StoreError('store_failed', `the store ${path}: it is not a file`, { hint: 'Use a different path.' })
    }
    closeSync(openSync(path, 'a', 0o600))
    // Files that a process left. SQLite creates them with the mode of the database file.
    for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600)
  })
  return open(path)
}
