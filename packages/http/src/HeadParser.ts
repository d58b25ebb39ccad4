/** Parses the heads of one connection. Programs mostly send the same head repeatedly on a connection. */
import * as RequestHead from './RequestHead.js'

/** RFC 9112, section 2.1: the end of the last header line, and the blank line. */
const endLength = 4
const nothing = new Uint8Array(0)

export class HeadParser {
  #head: RequestHead.RequestHead | undefined
  #text = ''
  /** The bytes of the last head up to the body, once it was sent twice. */
  #repeated: Uint8Array = nothing

  /**
   * Returns the length of the last head if the input starts with the same bytes, and 0 otherwise. The bytes end with
   * the first blank line, so it need not be searched for again.
   */
  repeatedLength(input: Buffer): number {
    const { length } = this.#repeated
    if (length === 0 || input.length < length) return 0
    return input.compare(this.#repeated, 0, length, 0, length) === 0 ? length : 0
  }

  /** The head that `repeatedLength` found. */
  get repeated(): RequestHead.RequestHead {
    return this.#head!
  }

  /**
   * Parses the head that ends with the blank line at `end`.
   *
   * @throws MalformedError
   */
  parse(input: Buffer, end: number): RequestHead.RequestHead {
    const text = input.toString('latin1', 0, end)
    if (this.#head !== undefined && text === this.#text) {
      // Copied, because the input may be wiped with the body in it.
      this.#repeated = new Uint8Array(input.subarray(0, end + endLength))
      return this.#head
    }
    this.#head = RequestHead.parse(text)
    this.#text = text
    this.#repeated = nothing
    return this.#head
  }
}
