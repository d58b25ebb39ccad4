/**
 * One program for a log. The lock is flock(2) on a file beside it that is never replaced; the kernel gives it back however
 * the program ends, so that there is nothing to clean up and no process id to mistake for another's.
 *
 * Node has no flock. On Linux, flock(1) takes it for us on a descriptor that it inherits: a lock of this kind belongs
 * to the open file, which stays open here after flock(1) has ended. On macOS open(2) itself can take it.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'

const darwinExclusiveLock = 0x20

/** The descriptor that holds the lock; closing it, or ending, gives the lock back. */
export function take(path: string): number {
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
  throw new LockedError(path)
}

function takeByOpening(path: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | darwinExclusiveLock
  try {
    return openSync(path, flags, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') throw new LockedError(path)
    throw error
  }
}

export class LockedError extends Error {
  override name = 'LockedError'
  constructor(path: string) {
    super(`${path} is locked: another devnet uses the same log; stop it, or choose another path`)
  }
}
