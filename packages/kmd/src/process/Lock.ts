/** One daemon for a data directory: the lock on kmd.lock, which the Go daemon takes too, so that the two exclude each other. */
import { join } from 'node:path'
import * as FileLock from '@latchkey/system/lock'

export const fileName = 'kmd.lock'

/**
 * The descriptor that holds the lock.
 *
 * @throws LockedError if a daemon runs in the directory already.
 */
export function take(dataDir: string): number {
  try {
    return FileLock.take(join(dataDir, fileName))
  } catch (error) {
    if (error instanceof FileLock.LockError && error.code === 'locked') throw new LockedError()
    throw error
  }
}

export const release = FileLock.release

export class LockedError extends Error {
  override name = 'LockedError'
  constructor() {
    super('failed to lock kmd.lock; is an instance of kmd already running in this data directory?')
  }
}
