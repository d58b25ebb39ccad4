/**
 * Reads HTTP/1.1 responses from the bytes of a connection, within limits. Rejects everything that two parsers could
 * read differently, because the rest of a misread response would be taken for the next one.
 */
import { LatchkeyError } from '@latchkey/algorand'

/** The head of a response. */
export type ResponseHead = {
  readonly status: number
  readonly statusText: string
  /** Alternating names and values, as sent. */
  readonly headers: readonly string[]
}

/** Receives the parts of a response. */
export type ResponseHandler = {
  onHead: (head: ResponseHead) => void
  /** The piece shares its memory with others, and may be wiped. */
  onData: (piece: Buffer) => void
}

/** The limit of Node's own clients. */
const maxHeadBytes = 16 * 1024
const maxChunkLineBytes = 1024
const maxInformational = 16

type State = 'head' | 'length' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'until-close' | 'end'

const empty = Buffer.alloc(0)

/** Reads one response after the other. */
export class ResponseReader {
  #handler: ResponseHandler | undefined
  #state: State = 'end'
  #hasBody = true
  /** The beginning of a head or line that has not arrived completely. */
  #held = empty
  #left = 0
  #informational = 0
  /** Whether a byte of the response has arrived. */
  hasBegun = false
  /** Whether the server keeps the connection open after the response. */
  isPersistent = false
  /** How long the server keeps an idle connection, if it announces that. */
  announcedMs: number | undefined

  /** Prepares for the response to a request. */
  start(handler: ResponseHandler, method: string): void {
    this.#handler = handler
    this.#state = 'head'
    this.#hasBody = method !== 'HEAD'
    this.#held = empty
    this.#informational = 0
    this.hasBegun = false
    this.isPersistent = false
  }

  /** Whether the response is complete. */
  get isComplete(): boolean {
    return this.#state === 'end'
  }

  /**
   * Reads the next bytes. Bytes after the end of the response make the connection unusable.
   *
   * @throws ResponseError for a response that is not valid HTTP
   */
  read(bytes: Buffer): void {
    this.hasBegun = true
    let at = 0
    while (at < bytes.length) {
      if (this.#state === 'end') {
        this.isPersistent = false
        return
      }
      at = this.#step(bytes, at)
    }
  }

  /** Notes that the server has closed the connection. Returns whether that completes the response. */
  close(): boolean {
    this.isPersistent = false
    if (this.#state !== 'until-close') return this.#state === 'end'
    this.#state = 'end'
    return true
  }

  /** Returns where the next step begins. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes, at)
      case 'length':
      case 'chunk': {
        const end = Math.min(bytes.length, at + this.#left)
        this.#left -= end - at
        // Before the handler runs, which may look at the state.
        if (this.#left === 0) this.#state = this.#state === 'chunk' ? 'chunk-end' : 'end'
        this.#handler!.onData(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
        return end
      }
      case 'until-close':
        this.#handler!.onData(at === 0 ? bytes : bytes.subarray(at))
        return bytes.length
      default:
        return this.#readLine(bytes, at)
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const held = this.#held
    const all = held.length > 0 ? Buffer.concat([held, bytes]) : bytes
    const end = all.indexOf('\r\n\r\n', held.length > 0 ? Math.max(0, held.length - 3) : at, 'latin1')
    const from = held.length > 0 ? 0 : at
    const length = (end < 0 ? all.length : end + 4) - from
    if (length > maxHeadBytes) throw new ResponseError('HPE_HEADER_OVERFLOW', 'the response headers are too long')
    if (end < 0) {
      this.#held = Buffer.from(all.subarray(from))
      return bytes.length
    }
    this.#held = empty
    const text = all.toString('latin1', from, end + 2)
    // The copy may hold the beginning of the body.
    if (held.length > 0) all.fill(0)
    this.#takeHead(text)
    return end + 4 - held.length
  }

  #takeHead(text: string): void {
    if (invalidCharacter.test(text)) throw invalid()
    const line = statusLine.exec(text)
    if (line === null) throw invalid()
    const status = Number(line[2])
    const headers = parseHeaders(text, line[0].length)
    const isChunked = readChunked(headers)
    const length = readLength(headers)
    if (isChunked && length !== undefined) throw invalid()
    if (status < 200) {
      // A switch of protocols ends HTTP, and was not requested.
      if (status === 101 || ++this.#informational > maxInformational) throw invalid()
      return
    }
    const seconds = announcement.exec(valuesOf(headers, 'keep-alive').join())?.[1]
    this.announcedMs = seconds === undefined ? undefined : Number(seconds) * 1000
    const options = valuesOf(headers, 'connection').join().toLowerCase().split(',')
    const has = (name: string): boolean => options.some((option) => option.trim() === name)
    // RFC 9112, 6.1: the framing of chunks in HTTP/1.0 is faulty.
    this.isPersistent = !has('close') && (line[1] === '1' || (has('keep-alive') && !isChunked))
    this.#begin(status, isChunked, length)
    this.#handler!.onHead({ status, statusText: line[3] ?? '', headers })
  }

  /** RFC 9112, 6.3. */
  #begin(status: number, isChunked: boolean, length: number | undefined): void {
    if (!this.#hasBody || status === 204 || status === 304 || length === 0) this.#state = 'end'
    else if (isChunked) this.#state = 'chunk-size'
    else if (length !== undefined) {
      this.#left = length
      this.#state = 'length'
    } else {
      this.isPersistent = false
      this.#state = 'until-close'
    }
  }

  /** Reads a line between the chunks of a body. */
  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(10, at)
    const next = end < 0 ? bytes.length : end + 1
    const held =
      this.#held.length > 0 ? Buffer.concat([this.#held, bytes.subarray(at, next)]) : bytes.subarray(at, next)
    const isTrailer = this.#state === 'trailers'
    if (held.length > (isTrailer ? this.#left : maxChunkLineBytes)) throw invalid()
    if (end < 0) {
      this.#held = Buffer.from(held)
      return next
    }
    this.#held = empty
    this.#takeLine(held.toString('latin1'))
    if (isTrailer) this.#left -= held.length
    return next
  }

  #takeLine(line: string): void {
    if (this.#state === 'chunk-end') {
      if (line !== '\r\n') throw invalid()
      this.#state = 'chunk-size'
    } else if (this.#state === 'trailers') {
      if (line === '\r\n') this.#state = 'end'
      else if (invalidCharacter.test(line) || !trailer.test(line)) throw invalid()
    } else {
      const size = chunkSize.exec(line)
      if (size === null) throw invalid()
      this.#left = Number.parseInt(size[1]!, 16)
      this.#state = this.#left === 0 ? 'trailers' : 'chunk'
      if (this.#left === 0) this.#left = maxHeadBytes
    }
  }
}

/** Also finds a CR or LF that is not part of a line's end. */
const invalidCharacter = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/
const statusLine = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: ([^\r]*))?\r\n/
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const trailer = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:/
const chunkSize = /^([0-9A-Fa-f]{1,12})(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n$/
const announcement = /(?:^|[\s,;])timeout=([0-9]{1,9})(?:$|[\s,;])/i

function parseHeaders(text: string, start: number): string[] {
  const headers: string[] = []
  for (let at = start; at < text.length; ) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon < 0 || colon > end) throw invalid()
    const name = text.slice(at, colon)
    if (!token.test(name)) throw invalid()
    headers.push(name, trim(text, colon + 1, end))
    at = end + 2
  }
  return headers
}

/** Removes spaces and tabs only, unlike `String.trim`. */
function trim(text: string, start: number, end: number): string {
  const isBlank = (at: number): boolean => text[at] === ' ' || text[at] === '\t'
  let from = start
  let to = end
  while (from < to && isBlank(from)) from++
  while (to > from && isBlank(to - 1)) to--
  return text.slice(from, to)
}

/** The values of a header, by its name in lower case. */
export function valuesOf(headers: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const own = headers[at]!
    if (own.length === name.length && own.toLowerCase() === name) values.push(headers[at + 1]!)
  }
  return values
}

function readLength(headers: readonly string[]): number | undefined {
  const [length, second] = valuesOf(headers, 'content-length')
  if (second !== undefined || !/^[0-9]{1,15}$/.test(length ?? '0')) throw invalid()
  return length === undefined ? undefined : Number(length)
}

function readChunked(headers: readonly string[]): boolean {
  const [coding, second] = valuesOf(headers, 'transfer-encoding')
  if (second !== undefined || (coding ?? 'chunked').toLowerCase() !== 'chunked') throw invalid()
  return coding !== undefined
}

function invalid(): ResponseError {
  return new ResponseError('HPE_INVALID_RESPONSE', 'the response is not valid HTTP')
}

/** A response that is not valid HTTP. The codes begin like those of Node's parser, which programs know. */
export class ResponseError extends LatchkeyError<'HPE_INVALID_RESPONSE' | 'HPE_HEADER_OVERFLOW'> {
  override name = 'ResponseError'
}
