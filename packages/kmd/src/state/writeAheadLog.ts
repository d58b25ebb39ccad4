/** The write-ahead log of the state file: a second file that SQLite writes each commit to. */
import { fdatasync, fstatSync, write } from 'node:fs'
import { promisify } from 'node:util'
import type * as Sqlite from '@latchkey/system/sqlite'

/** Syncs the log to disk, outside the event loop. */
export const sync = promisify(fdatasync)
const writeAt = promisify(write)

/** A thousand pages: enough for daemons that sign little. */
const logBytes = 4_200_000

/**
 * Extends the log with zeros, which SQLite takes for its end. Syncing a growing file takes the file system several
 * times as long. Runs outside the event loop, because the zeros are synced; nothing else may be written meanwhile.
 */
export async function extend(log: number): Promise<void> {
  const { size } = fstatSync(log)
  if (size >= logBytes) return
  const zeros = Buffer.alloc(logBytes - size)
  try {
    let written = 0
    while (written < zeros.length) {
      written += (await writeAt(log, zeros, written, zeros.length - written, size + written)).bytesWritten
    }
    await sync(log)
  } catch {
    // On a disk with less space, syncs are only slower.
  }
}

/** Whether the whole log is now in the file and the log is empty. False while another program reads. */
export function empty(database: Sqlite.Database): boolean {
  return (database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }).busy === 0
}

/** Like `empty`, but also false if the log could not be emptied, as on a full disk, where the file can still be read. */
export function tryEmpty(database: Sqlite.Database): boolean {
  try {
    return empty(database)
  } catch {
    return false
  }
}
