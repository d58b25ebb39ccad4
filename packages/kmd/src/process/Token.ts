/** The API token: the first line of kmd.token, 64 to 256 bytes. */
import { type FSWatcher, linkSync, readFileSync, rmSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { StartError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import type { Log } from './Log.js'

/** The name of the token file in a data directory. */
export const fileName = 'kmd.token'

const shortest = 64
const longest = 256

/** Returns the path of the token file in a data directory. */
export function path(dataDir: string): string {
  return join(dataDir, fileName)
}

/**
 * Returns the stored token, or stores a new one if the file is missing, unreadable or blank.
 *
 * @throws {@link StartError} `invalid_token_file` if the stored token is too short or too long.
 */
export function readOrCreate(dataDir: string): string {
  return read(dataDir) ?? create(dataDir)
}

/**
 * As in the Go daemon, the token is created before the lock is taken, so several starts may run this concurrently. The
 * first one creates the file, and the others use its content: a daemon whose token differs from the file serves no
 * client.
 */
function create(dataDir: string): string {
  const token = generate()
  const temporary = `${path(dataDir)}.${process.pid}`
  AtomicFile.replaceSync(temporary, token)
  try {
    linkSync(temporary, path(dataDir))
    AtomicFile.syncDirectorySync(path(dataDir))
    return token
  } catch {
    // Another start was faster; or the file is blank or unreadable, or the file system has no links.
    return read(dataDir) ?? write(dataDir, token)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/**
 * Returns the stored token, or undefined if the file is missing, unreadable or blank.
 *
 * @throws {@link StartError} `invalid_token_file` if the stored token is too short or too long.
 */
export function read(dataDir: string): string | undefined {
  let text: string
  try {
    // One character per byte, because the token is compared with the bytes of a header.
    text = readFileSync(path(dataDir), 'latin1')
  } catch {
    return undefined
  }
  const [line = ''] = text.split('\n', 1)
  if (line === '') return undefined
  validate(line)
  return line
}

/** Replaces the token and returns the new one. A running daemon then accepts only the new token. */
export function rotate(dataDir: string): string {
  return write(dataDir, generate())
}

/** Calls `take` with each new token in the file. A missing or damaged file changes nothing. Returns a stop function. */
export function follow(dataDir: string, options: { take: (token: string) => void; log: Log }): () => void {
  let known = identity(dataDir)
  const check = (): void => {
    const current = identity(dataDir)
    if (current === known) return
    known = current
    try {
      const token = read(dataDir)
      if (token === undefined) return
      options.take(token)
      options.log.write('info', 'applied the API token from kmd.token')
    } catch (error) {
      options.log.write('error', `kmd.token changed but was not applied: ${(error as Error).message}`)
    }
  }
  // Not every file system reports changes, so poll as well.
  const timer = setInterval(check, pollIntervalMs).unref()
  const watcher = watchQuietly(dataDir, (file) => file === fileName && check())
  return () => {
    clearInterval(timer)
    watcher?.close()
  }
}

const pollIntervalMs = 1_000

function watchQuietly(directory: string, onChange: (file: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(directory, { persistent: false }, (_event, file) => onChange(file))
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}

/** Differs between versions of the file. */
function identity(dataDir: string): string {
  const status = statSync(path(dataDir), { throwIfNoEntry: false, bigint: true })
  return status === undefined ? '' : `${status.ino}:${status.mtimeNs}:${status.size}`
}

function generate(): string {
  return Secret.randomBytes(32).toString('hex')
}

function write(dataDir: string, token: string): string {
  AtomicFile.replaceSync(path(dataDir), token)
  return token
}

function validate(token: string): void {
  if (token.length < shortest) throw invalid('provided APIToken too short. Must be >= 64 characters')
  if (token.length > longest) throw invalid('provided APIToken too long. Must be <= 256 characters')
}

function invalid(message: string): StartError {
  return new StartError('invalid_token_file', { message })
}
