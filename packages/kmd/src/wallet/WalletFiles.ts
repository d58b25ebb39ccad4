/** The open wallet databases, by path. Opening costs as much as a hundred queries, so databases in use stay open. */
import { BoundedMap } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { WalletFile } from './WalletFile.js'
import * as WalletFormat from './WalletFormat.js'

/**
 * A problem with a file. `problem` completes a sentence that starts with the file name. A file with `isRefused` cannot
 * be used at all. A problem without `isOfContent` can disappear without a change to the file.
 */
export type FileProblem = { path: string; problem: string; isRefused: boolean; isOfContent: boolean }

export type WalletFilesOptions = {
  /** @default 128 */
  limit?: number
  /** Called each time a file with a problem is requested. */
  onProblem?: (problem: FileProblem) => void
}

export class WalletFiles {
  /** Closes the least recently used file. */
  readonly #open: BoundedMap<string, WalletFile>
  readonly #onProblem: (problem: FileProblem) => void

  constructor({ limit = 128, onProblem = () => {} }: WalletFilesOptions = {}) {
    this.#open = new BoundedMap(limit, (file) => file.close())
    this.#onProblem = onProblem
  }

  /**
   * Returns the current database at `path`. Reopens a replaced file. Unlike in the reference, a missing file is an
   * error and is not created again.
   */
  get(path: string): WalletFile {
    try {
      const file = this.#current(path)
      const { damage } = file
      if (damage !== undefined) this.#onProblem({ path, problem: damage, isRefused: false, isOfContent: true })
      return file
    } catch (error) {
      const { cause } = error as Error
      if (cause instanceof WalletFormat.DatabaseFormatError) {
        const isOfContent = WalletFormat.isOfContent(cause)
        this.#onProblem({ path, problem: cause.message, isRefused: true, isOfContent })
      }
      throw error
    }
  }

  /** Like `get`, for a handle: the file at the path must still be the wallet that was unlocked. */
  getWallet(path: string, id: Uint8Array): WalletFile {
    const file = this.get(path)
    if (!file.holds(id)) {
      throw new KmdError('database', { cause: new Error("the wallet's file was replaced by another wallet's") })
    }
    return file
  }

  close(path: string): void {
    this.#open.get(path)?.close()
    this.#open.delete(path)
  }

  closeAll(): void {
    for (const path of [...this.#open.keys()]) this.close(path)
  }

  #current(path: string): WalletFile {
    const known = this.#open.get(path)
    if (known !== undefined) {
      if (known.isCurrent()) {
        if (this.#open.size > 1) this.#open.touch(path)
        return known
      }
      this.close(path)
    }
    const file = new WalletFile(path)
    this.#open.set(path, file)
    return file
  }
}
