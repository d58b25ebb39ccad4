/** A copy of a streamed response, for its buyer to get it again if the connection breaks. */
import { Bytes } from '@latchkey/algorand'

/** Longer streams are not copied, because a copy would take the memory that streaming saves. */
export const maxCopyBytes = 1024 * 1024

export class StreamCopy {
  #chunks: Uint8Array[] | undefined = []
  #bytes = 0

  /** How many bytes were added, including those without a copy. */
  get bytes(): number {
    return this.#bytes
  }

  get isTooLong(): boolean {
    return this.#chunks === undefined
  }

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    if (this.#bytes > maxCopyBytes) this.#chunks = undefined
    // Copied, because the memory may be reused after it was sent.
    else this.#chunks?.push(new Uint8Array(chunk))
  }

  /** Undefined if the stream is too long. */
  body(): Uint8Array<ArrayBuffer> | undefined {
    return this.#chunks === undefined ? undefined : new Uint8Array(Bytes.concat(this.#chunks))
  }
}
