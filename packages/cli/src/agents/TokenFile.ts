/** The new file for the token of an agent. It is created before the token exists, so that a token is not lost. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Option } from '../Command.js'
import { CommandError } from '../errors.js'

export const tokenFileOption = {
  'token-file': {
    type: 'string',
    placeholder: 'PATH',
    completes: 'file',
    description: 'write the token to this new file, readable by its owner only, and do not print it',
  },
} as const satisfies { [name: string]: Option }

/** Called before the password prompt, which would otherwise be in vain. Returns the absolute path. */
export function checkTokenFile(given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  const path = resolve(given)
  if (existsSync(path)) throw exists(path)
  try {
    accessSync(dirname(path), constants.W_OK)
  } catch (cause) {
    throw unwritable(cause)
  }
  return path
}

export class TokenFile {
  readonly path: string
  readonly #descriptor: number

  private constructor(path: string, descriptor: number) {
    this.path = path
    this.#descriptor = descriptor
  }

  /** Creates the file and never replaces one. @throws CommandError `file_exists`, `file_unwritable` */
  static create(path: string): TokenFile {
    try {
      const descriptor = openSync(path, 'wx', 0o600)
      fchmodSync(descriptor, 0o600)
      return new TokenFile(path, descriptor)
    } catch (cause) {
      throw (cause as NodeJS.ErrnoException).code === 'EEXIST' ? exists(path) : unwritable(cause)
    }
  }

  /** @throws CommandError `file_unwritable`, after removing the file */
  write(token: string): void {
    const bytes = Buffer.from(`${token}\n`)
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at)
      fsyncSync(this.#descriptor)
      closeSync(this.#descriptor)
    } catch (cause) {
      this.discard()
      throw unwritable(cause)
    } finally {
      bytes.fill(0)
    }
  }

  /** Removes the file if no token was created. */
  discard(): void {
    for (const work of [() => unlinkSync(this.path), () => closeSync(this.#descriptor)]) {
      try {
        work()
      } catch {
        // The file is already removed or closed.
      }
    }
  }
}

function exists(path: string): CommandError {
  return new CommandError('file_exists', `${path} already exists and was not overwritten`, {
    hint: 'name another file',
  })
}

function unwritable(cause: unknown): CommandError {
  const message = `the token cannot be written to the file: ${(cause as Error).message}`
  return new CommandError('file_unwritable', message, { hint: 'name another file with --token-file', cause })
}
