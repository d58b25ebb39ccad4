/** Opens the databases of the stores. */
import * as Sqlite from '@latchkey/system/sqlite'

export type { Database } from '@latchkey/system/sqlite'

export function open(path: string): Sqlite.Database {
  const database = Sqlite.open(path)
  // Synced before a response, so that a crash loses nothing that was recorded. Other processes may use the file.
  // The timeout comes first, because setting the journal mode takes the lock.
  database.exec('PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
  return database
}
