/**
 * Parses enough of HTTP/1.1 to know when a response is complete (RFC 9112, sections 6 and 7): its length is given, or
 * it comes in chunks. Handles one response at a time, because a connection has only one request in progress.
 */
export class ResponseReader {
  status = 0
  #head: Buffer | undefined
  #inBody = false
  #chunked = false
  /** The bytes still missing of the body, or of the chunk and the line end after it. */
  #remaining = 0
  #lastChunk = false
  #sizeLine = ''
  readonly #body: Buffer[] | undefined

  constructor(options: { keepBody: boolean }) {
    this.#body = options.keepBody ? [] : undefined
  }

  /** Takes received bytes and returns whether the response is complete. Does not keep the buffer. */
  push(bytes: Buffer): boolean {
    if (this.#inBody) return this.#pushBody(bytes)
    const seen = this.#head === undefined ? bytes : Buffer.concat([this.#head, bytes])
    const end = seen.indexOf('\r\n\r\n')
    if (end < 0) {
      this.#head = Buffer.from(seen)
      return false
    }
    this.#head = undefined
    this.#readHead(seen.toString('latin1', 0, end))
    return this.#pushBody(seen.subarray(end + 4))
  }

  /** Returns the body of the last complete response and makes room for the next. */
  takeBody(): string {
    return Buffer.concat(this.#body?.splice(0) ?? []).toString()
  }

  #readHead(head: string): void {
    this.status = Number(head.slice(9, 12))
    this.#inBody = true
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    this.#chunked = length === null
    this.#remaining = length === null ? 0 : Number(length[1])
    if (this.#chunked && !/\r\ntransfer-encoding: *chunked/i.test(head)) {
      throw new ResponseError(`an response with neither length nor chunks: ${head}`)
    }
  }

  #pushBody(bytes: Buffer): boolean {
    const complete = this.#chunked ? this.#pushChunks(bytes) : this.#pushLength(bytes)
    if (complete) this.#inBody = false
    return complete
  }

  #pushLength(bytes: Buffer): boolean {
    if (bytes.length > this.#remaining) throw new ResponseError('more bytes than the response was announced with')
    this.#remaining -= bytes.length
    this.#append(bytes)
    return this.#remaining === 0
  }

  #pushChunks(bytes: Buffer): boolean {
    let at = 0
    while (at < bytes.length) {
      if (this.#remaining > 0) {
        const taken = Math.min(this.#remaining, bytes.length - at)
        this.#append(bytes.subarray(at, at + Math.max(0, Math.min(taken, this.#remaining - 2))))
        this.#remaining -= taken
        at += taken
        if (this.#remaining === 0 && this.#lastChunk) {
          this.#lastChunk = false
          return true
        }
        continue
      }
      const lineEnd = bytes.indexOf('\n', at)
      this.#sizeLine += bytes.toString('latin1', at, lineEnd < 0 ? bytes.length : lineEnd)
      if (lineEnd < 0) return false
      at = lineEnd + 1
      const size = Number.parseInt(this.#sizeLine, 16)
      if (Number.isNaN(size)) throw new ResponseError(`not the size of a chunk: ${this.#sizeLine}`)
      this.#sizeLine = ''
      this.#remaining = size + 2
      this.#lastChunk = size === 0
    }
    return false
  }

  #append(bytes: Buffer): void {
    this.#body?.push(Buffer.from(bytes))
  }
}

export class ResponseError extends Error {
  override name = 'ResponseError'
}
