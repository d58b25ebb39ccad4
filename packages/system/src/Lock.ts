/**
 * One program for a file. The lock is flock(2), which other programs (the Go daemon among them) see and take too; the
 * kernel releases it however the process ends, so there is nothing to clean up and no process id to mistake for another.
 *
 * Node has no flock. On Linux, flock(1) takes it on a descriptor that it inherits: a lock of this kind belongs to the
 * open file, which stays open here after flock(1) has ended. On macOS open(2) itself can take it.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { LatchkeyError } from '@latchkey/algorand'

const darwinExclusiveLock = 0x20

/**
 * Takes the lock, creating the file if it is missing. Returns the descriptor that holds it.
 *
 * @throws LockError with the code `locked` if another program, or this one, holds it already.
 */
export function take(path: string): number {
  return process.platform === 'darwin' ? takeByOpening(path) : takeByFlock(path)
}

/** Releases a lock by the descriptor that `take` returned. */
export function release(descriptor: number): void {
  closeSync(descriptor)
}

function takeByFlock(path: string): number {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  const result = spawnSync('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
  if (result.status === 0) return descriptor
  closeSync(descriptor)
  if (result.error === undefined) throw new LockError('locked', path)
  throw new LockError('flock_missing', path, result.error)
}

function takeByOpening(path: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | darwinExclusiveLock
  try {
    return openSync(path, flags, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') throw new LockError('locked', path)
    throw error
  }
}

/** The lock was not taken. */
export class LockError extends LatchkeyError<'locked' | 'flock_missing'> {
  override name = 'LockError'

  constructor(code: 'locked' | 'flock_missing', path: string, cause?: unknown) {
    if (code === 'locked') {
      super(code, `${path} is locked by another process`, { hint: 'stop that process, or use another path' })
    } else {
      super(code, `the command flock is needed to lock ${path}`, { hint: 'install the package util-linux', cause })
    }
  }
}
