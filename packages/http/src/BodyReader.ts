/** Assembles the body of one request from the received pieces, up to a limit. */
import { errors } from './errors.js'
import { parseField } from './RequestHead.js'

export type BodyReader = {
  /** Consumes the part of `input` that belongs to the body and returns the rest. */
  push: (input: Buffer) => Buffer
  readonly done: boolean
  /** Returns the body. Call it only when done. */
  take: () => Buffer
}

/** A body with an announced length. */
export function ofLength(length: number, limit: number): BodyReader {
  if (length > limit) throw tooLarge(limit)
  const pieces = new Pieces(limit)
  return {
    push(input) {
      const piece = input.subarray(0, length - pieces.length)
      pieces.add(piece)
      return input.subarray(piece.length)
    },
    get done() {
      return pieces.length === length
    },
    take: () => pieces.take(),
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
  readonly #pieces: Pieces
  #state: 'size' | 'data' | 'dataEnd' | 'trailers' | 'done' = 'size'
  #left = 0
  #trailerBytes = 0

  constructor(limit: number) {
    this.#pieces = new Pieces(limit)
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
    return this.#pieces.take()
  }

  #data(input: Buffer): Buffer {
    const piece = input.subarray(0, this.#left)
    this.#pieces.add(piece)
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

/** Pieces of a body, limited in total. */
export class Pieces {
  readonly #limit: number
  #only: Buffer | undefined
  #several: Buffer[] | undefined
  length = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(piece: Buffer): void {
    if (piece.length === 0) return
    this.length += piece.length
    if (this.length > this.#limit) throw tooLarge(this.#limit)
    if (this.#only === undefined) this.#only = piece
    else {
      this.#several ??= [this.#only]
      this.#several.push(piece)
    }
  }

  /** The pieces may contain a password, so they are wiped once they are copied. */
  take(): Buffer {
    if (this.#several === undefined) return this.#only ?? Buffer.alloc(0)
    const whole = Buffer.concat(this.#several)
    for (const piece of this.#several) piece.fill(0)
    return whole
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
