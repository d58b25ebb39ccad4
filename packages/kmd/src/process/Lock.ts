/** The lock on kmd.lock: one daemon per data directory. The Go daemon takes the same lock. */
import { join } from 'node:path'
import * as FileLock from '@latchkey/system/lock'
import { StartError } from '../errors.js'

export const fileName = 'kmd.lock'

/**
 * Takes the lock and returns its descriptor.
 *
 * @throws {@link StartError} `already_running` if a daemon runs in the directory.
 */
export function take(dataDir: string): number {
  try {
    return FileLock.take(join(dataDir, fileName))
  } catch (error) {
    if (error instanceof FileLock.LockError && error.code === 'locked')
      throw new StartError('already_running', { cause: error })
    throw error
  }
}

export const release = FileLock.release
