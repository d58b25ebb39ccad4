/** The API token: the first line of kmd.token, 64 to 256 bytes. */
import { type FSWatcher, readFileSync, renameSync, statSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import type { Log } from './Log.js'

export const fileName = 'kmd.token'

const shortest = 64
const longest = 256

export function path(dataDir: string): string {
  return join(dataDir, fileName)
}

/** The stored token, or a new one where there is none: a missing, unreadable or blank file. */
export function readOrCreate(dataDir: string): string {
  return read(dataDir) ?? write(dataDir, generate())
}

/** The stored token; undefined where there is none. */
export function read(dataDir: string): string | undefined {
  let text: string
  try {
    // One character a byte: the token is compared with the bytes of a header.
    text = readFileSync(path(dataDir), 'latin1')
  } catch {
    return undefined
  }
  const [line = ''] = text.split('\n', 1)
  if (line === '') return undefined
  validate(line)
  return line
}

/** Replaces the token. A daemon that runs takes the new one and refuses the old. */
export function rotate(dataDir: string): string {
  return write(dataDir, generate())
}

/**
 * Hands over every new token as soon as the file has one; a file that is gone or damaged changes nothing. Returns what
 * ends it.
 */
export function follow(dataDir: string, options: { take: (token: string) => void; log: Log }): () => void {
  let known = identity(dataDir)
  const look = (): void => {
    const current = identity(dataDir)
    if (current === known) return
    known = current
    try {
      const token = read(dataDir)
      if (token === undefined) return
      options.take(token)
      options.log.write('info', 'took over the API token in kmd.token')
    } catch (error) {
      options.log.write('error', `kmd.token was changed but not taken over: ${(error as Error).message}`)
    }
  }
  // Notices are not to be had on every file system, so look now and then as well.
  const timer = setInterval(look, lookEveryMs).unref()
  const watcher = watchQuietly(dataDir, (file) => file === fileName && look())
  return () => {
    clearInterval(timer)
    watcher?.close()
  }
}

const lookEveryMs = 1_000

function watchQuietly(directory: string, onChange: (file: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(directory, { persistent: false }, (_event, file) => onChange(file))
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}

/** Tells a file from the one that was there before. */
function identity(dataDir: string): string {
  const status = statSync(path(dataDir), { throwIfNoEntry: false, bigint: true })
  return status === undefined ? '' : `${status.ino}:${status.mtimeNs}:${status.size}`
}

function generate(): string {
  return Secret.randomBytes(32).toString('hex')
}

/** Through a second file, so that a reader never sees half a token; readable by its owner only. */
function write(dataDir: string, token: string): string {
  const temporary = `${path(dataDir)}.new`
  writeFileSync(temporary, token, { mode: 0o600 })
  renameSync(temporary, path(dataDir))
  return token
}

function validate(token: string): void {
  if (token.length < shortest) throw invalid('provided APIToken too short. Must be >= 64 characters')
  if (token.length > longest) throw invalid('provided APIToken too long. Must be <= 256 characters')
}

function invalid(message: string): StartError {
  return new StartError('invalid_token_file', { message })
}
