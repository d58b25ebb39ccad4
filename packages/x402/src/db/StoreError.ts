/** Describes problems with a store's file, because errors of SQLite and of the system name no file, or no remedy. */
import * as Sqlite from '@latchkey/system/sqlite'
import { PartyError, X402Error } from '../errors.js'

/** A store that cannot be used. */
export class StoreError extends PartyError<'store_too_new' | 'store_failed' | 'store_not_migrated'> {
  override name = 'StoreError'
}

/** Keyed by SQLite result code. */
const reasons: { readonly [code: number]: readonly [reason: string, hint: string] } = {
  5: ['another process holds its lock', 'Stop the other process, or use a different file.'],
  8: ['it cannot be written', "Give this process's user write access to the file and its directory."],
  11: ['it is damaged', 'Restore it from a backup, or use a different file.'],
  13: ['the disk is full', 'Free some disk space. No acknowledged payment is lost.'],
  14: ['it cannot be opened', "Check that its directory exists and that this process's user may write to it."],
  26: ['it is not a database', 'Use a different path: the file is not a store.'],
}

/** Codes by message text, because not every error of @photostructure/sqlite has a code. */
const texts: readonly (readonly [text: RegExp, code: number])[] = [
  [/database (table )?is locked/, 5],
  [/readonly database/, 8],
  [/malformed/, 11],
  [/disk is full/, 13],
  [/unable to open/, 14],
  [/not a database/, 26],
]

/**
 * Runs work that reads or writes a file.
 *
 * @throws {@link StoreError} `store_failed` with the name of the file, for errors of SQLite and of the system
 */
export function naming<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw named(path, error)
  }
}

/** Adds the name of the file to an error of SQLite or of the system. */
export function named(path: string, error: unknown): unknown {
  const { errcode, errno, message } = error as { errcode?: unknown; errno?: unknown; message?: string }
  const isOfSystem = typeof errno === 'number' || Sqlite.isSqliteError(error)
  if (error instanceof X402Error || error instanceof Sqlite.SqliteError || !isOfSystem) return error
  const code = typeof errcode === 'number' ? errcode & 0xff : texts.find(([text]) => text.test(message ?? ''))?.[1]
  const [reason, hint] = reasons[code ?? 0] ?? [message ?? 'it cannot be used']
  return new StoreError('store_failed', `the store ${path}: ${reason}`, { hint, cause: error })
}
