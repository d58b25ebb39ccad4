/** Assembles the body of one request from the received pieces, up to a limit. */
import { errors } from './errors.js'
import { parseField } from './RequestHead.js'

export type BodyReader = {
  /** Copies the part of `input` that belongs to the body and returns the rest. */
  push: (input: Buffer) => Buffer
  readonly done: boolean
  /** Returns the body. Call it only when done. */
  take: () => Buffer
  /** Wipes a body that is not taken, and drops its memory. Nothing may be pushed afterwards. */
  discard: () => void
}

/** Called before memory is allocated for a body; throws if there is none. */
export type ReserveMemory = (bytes: number) => void

/** A body with an announced length. */
export function ofLength(length: number, limit: number, reserve?: ReserveMemory): BodyReader {
  if (length > limit) throw tooLarge(limit)
  const bytes = new BodyBytes({ limit: length, reserve })
  return {
    push(input) {
      const piece = input.subarray(0, length - bytes.length)
      bytes.add(piece)
      return input.subarray(piece.length)
    },
    get done() {
      return bytes.length === length
    },
    take: () => bytes.take(),
    discard: () => bytes.discard(),
  }
}

const longestSizeLine = 256
const longestTrailers = 4096

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
/** RFC 9110, section 5.6.4. */
const quoted = '"(?:[\\t !#-[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"'
/** RFC 9112, section 7.1.1, without the whitespace that senders must not send and that parsers treat differently. */
const sizeLine = new RegExp(`^([0-9a-fA-F]{1,8})(?:;${token}(?:=(?:${token}|${quoted}))?)*$`)

/** RFC 9110, section 6.5.1: fields that frame, route, authenticate or describe the message must precede it. */
const forbiddenTrailers = new Set([
  ...['transfer-encoding', 'content-length', 'content-encoding', 'content-type', 'content-range', 'trailer'],
  ...['host', 'connection', 'te', 'upgrade', 'expect', 'max-forwards', 'cache-control', 'range'],
  ...['authorization', 'proxy-authorization', 'cookie', 'x-kmd-api-token', 'x-algo-api-token'],
])

/** A chunked body (RFC 9112, section 7.1). Extensions and trailers are checked and ignored, within limits. */
export class ChunkedReader implements BodyReader {
  readonly #bytes: BodyBytes
  #state: 'size' | 'data' | 'dataEnd' | 'trailers' | 'done' = 'size'
  #left = 0
  #trailerBytes = 0

  constructor(limit: number, reserve?: ReserveMemory) {
    this.#bytes = new BodyBytes({ limit, reserve })
  }

  get done(): boolean {
    return this.#state === 'done'
  }

  push(input: Buffer): Buffer {
    let rest = input
    while (this.#state !== 'done' && rest.length > 0) {
      const after = this.#state === 'data' ? this.#data(rest) : this.#line(rest)
      if (after === undefined) break
      rest = after
    }
    return rest
  }

  take(): Buffer {
    return this.#bytes.take()
  }

  discard(): void {
    this.#bytes.discard()
  }

  #data(input: Buffer): Buffer {
    const piece = input.subarray(0, this.#left)
    this.#bytes.add(piece)
    this.#left -= piece.length
    if (this.#left === 0) this.#state = 'dataEnd'
    return input.subarray(piece.length)
  }

  /** Undefined while the line is incomplete, in which case it stays in the caller's input. */
  #line(input: Buffer): Buffer | undefined {
    const end = input.indexOf('\r\n')
    if (end < 0) {
      // The first half of the line ending may have arrived.
      const longest = (this.#state === 'trailers' ? longestTrailers : longestSizeLine) + 1
      if (input.length > longest) throw new BodyError('body_malformed', 'a line of the chunked body is too long')
      return undefined
    }
    const line = input.toString('latin1', 0, end)
    if (this.#state === 'dataEnd') {
      if (line !== '') throw new BodyError('body_malformed', 'a chunk is longer than announced')
      this.#state = 'size'
    } else if (this.#state === 'size') this.#size(line)
    else this.#trailer(line)
    return input.subarray(end + 2)
  }

  #size(line: string): void {
    const match = line.length > longestSizeLine ? null : sizeLine.exec(line)
    if (match === null) throw new BodyError('body_malformed', 'a chunk has no size, or a malformed extension')
    this.#left = Number.parseInt(match[1]!, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'data'
  }

  #trailer(line: string): void {
    this.#trailerBytes += line.length + 2
    if (this.#trailerBytes > longestTrailers) throw new BodyError('body_malformed', 'the trailers are too long')
    if (line === '') {
      this.#state = 'done'
      return
    }
    const [name] = parseField(line) ?? []
    if (name === undefined) throw new BodyError('body_malformed', 'a trailer is malformed')
    if (forbiddenTrailers.has(name)) throw new BodyError('body_malformed', `${name} must not be a trailer`)
  }
}

const nothing: Buffer = Buffer.alloc(0)
/** The memory that a body gets first. It doubles as the body arrives, whatever length was announced. */
const firstBytes = 4 * 1024

/**
 * Collects the pieces of a body in one buffer, up to a limit. A body may contain a password, so no other copy of it
 * stays in memory.
 */
export class BodyBytes {
  readonly #limit: number
  readonly #reserve: ReserveMemory | undefined
  #bytes = nothing
  length = 0

  constructor({ limit, reserve }: { limit: number; reserve?: ReserveMemory | undefined }) {
    this.#limit = limit
    this.#reserve = reserve
  }

  add(piece: Uint8Array): void {
    const length = this.length + piece.length
    if (length > this.#limit) throw tooLarge(this.#limit)
    if (length > this.#bytes.length) this.#grow(length)
    this.#bytes.set(piece, this.length)
    this.length = length
  }

  take(): Buffer {
    return this.#bytes.subarray(0, this.length)
  }

  /** The memory is dropped, too, because it may be given to another body at once. */
  discard(): void {
    this.#bytes.fill(0)
    this.#bytes = nothing
  }

  #grow(needed: number): void {
    const size = Math.min(Math.max(needed, 2 * this.#bytes.length, firstBytes), this.#limit)
    this.#reserve?.(size - this.#bytes.length)
    const grown = Buffer.allocUnsafeSlow(size)
    grown.set(this.#bytes.subarray(0, this.length))
    this.#bytes.fill(0)
    this.#bytes = grown
  }
}

export function tooLarge(limit: number): BodyError {
  return new BodyError('body_too_large', `the request body is larger than ${limit} bytes`)
}

/** The codes of {@link BodyError}. */
export type BodyErrorCode = keyof typeof errors

/** A request body that could not be read. */
export class BodyError extends Error {
  override name = 'BodyError'
  readonly code: BodyErrorCode
  readonly hint: string
  /** The status for the response. */
  readonly status: number

  constructor(code: BodyErrorCode, message: string = errors[code].message) {
    super(message)
    this.code = code
    this.hint = errors[code].hint
    this.status = errors[code].status
  }
}
