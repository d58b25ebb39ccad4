/** The open wallet databases, by path. Opening costs as much as a hundred queries, so databases in use stay open. */
import { BoundedMap } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { WalletFile } from './WalletFile.js'

export class WalletFiles {
  /** Closes the least recently used. */
  readonly #open: BoundedMap<string, WalletFile>

  constructor({ limit = 128 }: { limit?: number } = {}) {
    this.#open = new BoundedMap(limit, (file) => file.close())
  }

  /**
   * Returns the database at `path` as it is now. A replaced file is opened again. A missing file is an error and is not
   * created again, unlike in the reference.
   */
  get(path: string): WalletFile {
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

  /** As `get`, for a handle: the file at the path must still be the wallet that was unlocked. */
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
}
