/** SQLite by the API of `node:sqlite`, whether it is built in or comes from a package. */
import { createRequire } from 'node:module'
import type { DatabaseSync, DatabaseSyncInstance } from '@photostructure/sqlite'

const require = createRequire(import.meta.url)
const firstBuiltIn = 24

/** One connection for as long as the process lives; made readable by its owner only. */
export function open(path: string): DatabaseSyncInstance {
  const isBuiltIn = Number(process.versions.node.split('.')[0]) >= firstBuiltIn
  const module = isBuiltIn ? 'node:sqlite' : '@photostructure/sqlite'
  const { DatabaseSync: Database } = require(module) as { DatabaseSync: typeof DatabaseSync }
  const database = new Database(path)
  // Written ahead, and synced before an answer: what was recorded is there after a crash. Others may use the file too.
  // Waiting comes first: setting the mode takes the lock already.
  database.exec('PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
  return database
}
