/** SQLite for the stores of the facilitator and the seller. */
import * as Sqlite from '@latchkey/system/sqlite'

export type { Database } from '@latchkey/system/sqlite'

/** One connection for as long as the process lives. */
export function open(path: string): Sqlite.Database {
  const database = Sqlite.open(path)
  // Written ahead, and synced before an answer: what was recorded is there after a crash. Others may use the file too.
  // Waiting comes first: setting the mode takes the lock already.
  database.exec('PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
  return database
}
