/**
 * A small JSON file of the daemon in the data directory: mode 0600, bounded, replaced atomically. An unreadable file is
 * never replaced, because its content belongs to the owner.
 */
import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { KmdError } from '../errors.js'

export type StateFileOptions<T> = {
  /** @default none: the state is in memory only */
  path?: string | undefined
  maxBytes: number
  /** The state while there is no file. */
  empty: T
  /** Checks the content. Throws an error that states what is wrong with it. */
  parse: (json: unknown) => T
}

export class StateFile<T extends object> {
  readonly #options: StateFileOptions<T>
  #inMemory: T
  #read: { version: string; state: T } | undefined

  constructor(options: StateFileOptions<T>) {
    this.#options = options
    this.#inMemory = options.empty
  }

  /**
   * Returns the current state of the file, which may be replaced while the daemon runs, for example by a backup.
   * Checking a thousand addresses takes a while, so an unchanged file is not read again.
   *
   * @throws {@link KmdError} `state_file_damaged`.
   */
  read(): T {
    const { path, maxBytes, empty, parse } = this.#options
    if (path === undefined) return this.#inMemory
    try {
      const stats = statSync(path, { bigint: true })
      // Opening a named pipe would block the whole daemon.
      if (!stats.isFile()) throw new Error('it is not a regular file')
      if (stats.size > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
      const version = `${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs} ${stats.size}`
      if (this.#read?.version === version) return this.#read.state
      const state = parse(JSON.parse(readFileSync(path, 'utf8')))
      this.#read = { version, state }
      return state
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return empty
      const reason = error instanceof SyntaxError ? 'it is not JSON' : (error as Error).message
      throw new KmdError('state_file_damaged', {
        message: `${basename(path)} in the data directory cannot be used: ${reason}. The file was not changed; repair it, or move it away`,
        cause: error,
      })
    }
  }

  /** @throws {@link KmdError} `state_file_not_saved`; the old content is then unchanged. */
  write(state: T): void {
    const { path } = this.#options
    if (path === undefined) {
      this.#inMemory = state
      return
    }
    try {
      AtomicFile.replaceSync(path, `${JSON.stringify(state, null, 2)}\n`)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      throw new KmdError('state_file_not_saved', {
        message: `${basename(path)} in the data directory could not be written (${code ?? message}); nothing was changed`,
        cause: error,
      })
    }
  }
}
