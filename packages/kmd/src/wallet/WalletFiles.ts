/** The open wallet databases, by path. Opening costs a hundred times a query, so the ones in use stay open. */
import { KmdError } from '../errors.js'
import { WalletFile } from './WalletFile.js'

export class WalletFiles {
  /** In order of use: a Map remembers insertion, and every use inserts again. */
  readonly #open = new Map<string, WalletFile>()
  readonly #limit: number

  constructor(options: { limit?: number } = {}) {
    this.#limit = options.limit ?? 128
  }

  /**
   * The database at `path` as it is now. A file that was replaced is opened again; one that vanished is an error for
   * as long as it is gone, and is not created again as the reference does.
   */
  get(path: string): WalletFile {
    const known = this.#open.get(path)
    if (known !== undefined) {
      if (known.isCurrent()) {
        if (this.#open.size > 1) {
          this.#open.delete(path)
          this.#open.set(path, known)
        }
        return known
      }
      this.close(path)
    }
    const file = new WalletFile(path)
    this.#open.set(path, file)
    this.#evict()
    return file
  }

  /** As `get`, for a handle: whatever lies at the path must still be the wallet that was unlocked. */
  getWallet(path: string, id: Uint8Array): WalletFile {
    const file = this.get(path)
    if (!file.holds(id)) {
      throw new KmdError('database', { cause: new Error('another wallet lies in the place of this one') })
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

  #evict(): void {
    const [oldest] = this.#open.keys()
    if (this.#open.size > this.#limit && oldest !== undefined) this.close(oldest)
  }
}
