/** The bearer token of an MCP server on this machine: random, in a file that only its user can read. */
import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { CommandError } from '../errors.js'
import { quoted } from '../format.js'

const tokenBytes = 32
const maxFileBytes = 1_024

/**
 * Returns the token in the file, or creates the file with a new one.
 *
 * @throws CommandError if others can read the file, or it contains no token
 */
export function readOrCreate(path: string): string {
  try {
    return read(path) ?? create(path)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError('file_unwritable', `${quoted(path)} cannot be used: ${(error as Error).message}`, {
      hint: 'give another file with --http-token-file',
      cause: error,
    })
  }
}

function read(path: string): string | undefined {
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { mode, uid, size } = fstatSync(descriptor)
    const isPrivate = process.platform === 'win32' || ((mode & 0o077) === 0 && uid === process.getuid?.())
    if (!isPrivate) {
      throw new CommandError('invalid_file', `other users can access ${quoted(path)}, so its token is not secret`, {
        hint: 'remove the file; a new one is then created',
      })
    }
    const text = size > maxFileBytes ? '' : readFileSync(descriptor, 'utf8').trim()
    if (/^[A-Za-z0-9_-]{32,200}$/.test(text)) return text
    throw new CommandError('invalid_file', `${quoted(path)} contains no token`, {
      hint: 'remove the file; a new one is then created',
    })
  } finally {
    closeSync(descriptor)
  }
}

function create(path: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const token = randomBytes(tokenBytes).toString('base64url')
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    writeSync(descriptor, `${token}\n`)
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
  return token
}
