/** A copy of a response that streams, for its buyer to get it again if the connection breaks. */
import { Bytes } from '@latchkey/algorand'

/** Longer streams have no copy: it would take the memory that streaming saves. */
export const maxCopyBytes = 1024 * 1024

export class StreamCopy {
  #chunks: Uint8Array[] | undefined = []
  #bytes = 0

  /** How many bytes were added, also those that have no copy. */
  get bytes(): number {
    return this.#bytes
  }

  get isTooLong(): boolean {
    return this.#chunks === undefined
  }

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    if (this.#bytes > maxCopyBytes) this.#chunks = undefined
    // Its memory may be used for something else once it was sent.
    else this.#chunks?.push(new Uint8Array(chunk))
  }

  /** Undefined if it is too long. */
  body(): Uint8Array<ArrayBuffer> | undefined {
    return this.#chunks === undefined ? undefined : new Uint8Array(Bytes.concat(this.#chunks))
  }
}
