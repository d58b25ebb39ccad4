/**
 * A lock on a file, held by one process at a time. It uses flock(2), like other programs including the Go daemon. The
 * kernel releases the lock however the process ends, so there is no stale lock and no process id that could be reused.
 *
 * Node has no flock. On Linux, flock(1) takes the lock on an inherited descriptor: this kind of lock belongs to the
 * open file, which stays open here after flock(1) has exited. On macOS open(2) itself can take the lock.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { LatchkeyError } from '@latchkey/algorand'
import { errors } from './errors.js'

const darwinExclusiveLock = 0x20
/** The exit status of flock(1) with -n when the lock is held. */
const heldStatus = 1

/**
 * Takes the lock, creating the file if it is missing. Returns the descriptor that holds it, for {@link release}.
 *
 * @throws LockError with the code `locked` if another program or this one holds the lock; `flock_missing` or
 * `lock_failed` if it cannot be taken at all; the error of the file system if the file cannot be opened.
 *
 * @example
 * const lock = Lock.take('state.lock')
 * try {
 *   update()
 * } finally {
 *   Lock.release(lock)
 * }
 */
export function take(path: string): number {
  return process.platform === 'darwin' ? takeByOpening(path) : takeByFlock(path)
}

/** Releases a lock by the descriptor that {@link take} returned. */
export function release(descriptor: number): void {
  closeSync(descriptor)
}

function takeByFlock(path: string): number {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  const result = spawnSync('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
  if (result.status === 0) return descriptor
  closeSync(descriptor)
  if (result.status === heldStatus) throw new LockError('locked', path)
  if (result.error === undefined) throw new LockError('lock_failed', path)
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

type LockErrorCode = 'locked' | 'lock_failed' | 'flock_missing'

/** The lock was not taken. */
export class LockError extends LatchkeyError<LockErrorCode> {
  override name = 'LockError'

  constructor(code: LockErrorCode, path: string, cause?: unknown) {
    super(code, messages[code](path), { hint: errors[code].hint, cause })
  }
}

const messages: { readonly [code in LockErrorCode]: (path: string) => string } = {
  locked: (path) => `${path} is locked by another process`,
  lock_failed: (path) => `the file system did not grant a lock on ${path}`,
  flock_missing: (path) => `the command flock (Debian: package util-linux) is needed to lock ${path}`,
}
