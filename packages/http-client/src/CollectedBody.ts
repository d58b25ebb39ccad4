/** The body of a response, collected within a limit. */
import type { TransportResponse } from './Transport.js'

const decoder = new TextDecoder()

/** One growing buffer: a server that sends single bytes must not cost an object for each. */
export class CollectedBody {
  readonly #maxBytes: number
  #bytes = new Uint8Array()
  #length = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Copies and wipes the piece, because it may hold a key. Returns false if the body is too large. */
  add(piece: Uint8Array): boolean {
    const length = this.#length + piece.length
    if (length > this.#maxBytes) return false
    if (length > this.#bytes.length) this.#grow(length)
    this.#bytes.set(piece, this.#length)
    this.#length = length
    piece.fill(0)
    return true
  }

  wipe(): void {
    this.#bytes.fill(0)
  }

  toResponse(status: number, header: TransportResponse['header']): TransportResponse {
    const body = this.#bytes.subarray(0, this.#length)
    return { status, header, body, text: () => decoder.decode(body) }
  }

  #grow(length: number): void {
    const larger = new Uint8Array(Math.max(length, Math.min(2 * this.#bytes.length, this.#maxBytes)))
    larger.set(this.#bytes)
    this.wipe()
    this.#bytes = larger
  }
}
