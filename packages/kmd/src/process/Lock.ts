/**
 * One daemon for a data directory. The lock is flock(2) on kmd.lock, the same that the Go daemon takes, so that the
 * two exclude each other; the kernel gives it back however the process ends.
 *
 * Node has no flock. On Linux, flock(1) takes it for us on a descriptor that it inherits: a lock of this kind belongs
 * to the open file, which stays open here after flock(1) has ended. On macOS open(2) itself can take it.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'

export const fileName = 'kmd.lock'

const darwinExclusiveLock = 0x20

/** The descriptor that holds the lock; closing it, or ending, gives the lock back. */
export function take(dataDir: string): number {
  const path = join(dataDir, fileName)
  return process.platform === 'darwin' ? takeByOpening(path) : takeByFlock(path)
}

export function release(descriptor: number): void {
  closeSync(descriptor)
}

function takeByFlock(path: string): number {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  const result = spawnSync('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
  if (result.status === 0) return descriptor
  closeSync(descriptor)
  if (result.error !== undefined) {
    throw new Error(`the command flock, of the package util-linux, is needed to lock ${path}`, { cause: result.error })
  }
  throw new LockedError()
}

function takeByOpening(path: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | darwinExclusiveLock
  try {
    return openSync(path, flags, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') throw new LockedError()
    throw error
  }
}

export class LockedError extends Error {
  override name = 'LockedError'
  constructor() {
    super('failed to lock kmd.lock; is an instance of kmd already running in this data directory?')
  }
}
