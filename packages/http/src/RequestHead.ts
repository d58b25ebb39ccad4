/**
 * Parses the request line and headers of HTTP/1.x (RFC 9112) strictly: input that two parsers could understand
 * differently is rejected, because request smuggling depends on it.
 */
export type RequestHead = {
  method: string
  target: string
  headers: ReadonlyMap<string, string>
  /** Returns a header by its lower-case name. */
  header: (name: string) => string | undefined
  isHttp11: boolean
  keepAlive: boolean
  expectsContinue: boolean
  body: { type: 'none' } | { type: 'length'; bytes: number } | { type: 'chunked' }
}

const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([!-~]{1,8192}) HTTP\/1\.([01])$/
/** RFC 9112, section 3.2: a path, a URL, or `*`; after CONNECT host and port. */
const anyTarget = /^(?:\/|\*$|https?:\/\/[\w.~:[\]-]+(?:[/?]|$))/i
const tunnelTarget = /^[\w.[\]:-]+:[0-9]{1,5}$/
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
/** Other headers may be repeated as lists. These have a single value, so a second one is ambiguous. */
const single = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'authorization',
  'x-kmd-api-token',
  'x-algo-api-token',
])
/** Headers that determine the end of the body. */
const framing = new Set(['content-length', 'transfer-encoding'])
const maxHeaders = 100

/** `text` is the head without the blank line that ends it, with one character per byte. */
export function parse(text: string): RequestHead {
  let end = text.indexOf('\r\n')
  const line = requestLine.exec(end < 0 ? text : text.slice(0, end)) ?? refuse('the request line is not HTTP/1.1')
  const isTunnel = line[1] === 'CONNECT'
  if (!(isTunnel ? tunnelTarget : anyTarget).test(line[2]!)) refuse('the request target is neither a path nor a URL')
  const headers = new Map<string, string>()
  for (let count = 0; end >= 0; count++) {
    const start = end + 2
    end = text.indexOf('\r\n', start)
    addHeader(headers, end < 0 ? text.slice(start) : text.slice(start, end))
    if (count >= maxHeaders) refuse('there are more than 100 headers')
  }
  const connection = headers.get('connection')?.toLowerCase()
  return {
    method: line[1]!,
    target: line[2]!,
    headers,
    header: (name) => headers.get(name),
    isHttp11: line[3] === '1',
    // Data after CONNECT belongs to a tunnel, which is not supported, and not to the next request.
    keepAlive: !isTunnel && (line[3] === '1' ? !hasToken(connection, 'close') : hasToken(connection, 'keep-alive')),
    expectsContinue: line[3] === '1' && headers.get('expect')?.toLowerCase() === '100-continue',
    body: bodyOf(headers, line[3] === '1'),
  }
}

/** Returns the lower-case name and the value of a header or trailer line, or undefined if the line is neither. */
export function parseField(line: string): [name: string, value: string] | undefined {
  const colon = line.indexOf(':')
  const name = line.slice(0, colon).toLowerCase()
  if (colon < 1 || !headerName.test(name)) return undefined
  const value = trimBlanks(line, colon + 1)
  return headerValue.test(value) ? [name, value] : undefined
}

/** Avoids a regular expression, which would search again at each of 16,000 blanks that are not at the end. */
function trimBlanks(line: string, from: number): string {
  let start = from
  let end = line.length
  while (start < end && isBlank(line.charCodeAt(start))) start++
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--
  return line.slice(start, end)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

function addHeader(headers: Map<string, string>, line: string): void {
  const [name, value] = parseField(line) ?? refuse('a header is malformed')
  const before = headers.get(name)
  if (single.has(name)) {
    if (before !== undefined) refuse(`there is more than one ${name} header`)
    // The RFC allows a tab around a value. llhttp rejects one after these headers, and another parser may read it as
    // part of them.
    if (line.includes('\t') && framing.has(name)) refuse(`there is a tab in the ${name} header`)
  }
  // RFC 9113, section 8.2.3: only cookies are joined by semicolons.
  const separator = name === 'cookie' ? '; ' : ', '
  headers.set(name, before === undefined ? value : `${before}${separator}${value}`)
}

function bodyOf(headers: ReadonlyMap<string, string>, knowsChunks: boolean): RequestHead['body'] {
  const encoding = headers.get('transfer-encoding')
  const length = headers.get('content-length')
  if (encoding !== undefined) {
    if (!knowsChunks) refuse('HTTP/1.0 has no transfer-encoding')
    if (length !== undefined) refuse('content-length and transfer-encoding exclude each other')
    if (encoding.toLowerCase() !== 'chunked') refuse('chunked is the only supported transfer-encoding')
    return { type: 'chunked' }
  }
  if (length === undefined) return { type: 'none' }
  if (!/^[0-9]{1,15}$/.test(length)) refuse('content-length is not a number')
  return { type: 'length', bytes: Number(length) }
}

function hasToken(list: string | undefined, token: string): boolean {
  return list !== undefined && (list === token || list.split(',').some((element) => element.trim() === token))
}

const usualMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** One of the usual methods, or `OTHER`, for records: a client can send any word as the method. */
export function knownMethod(method: string): string {
  return usualMethods.has(method) ? method : 'OTHER'
}

function refuse(reason: string): never {
  throw new MalformedError(reason)
}

export class MalformedError extends Error {
  override name = 'RequestHead.MalformedError'
}

/** RFC 9112, section 2.1: the end of the last header line, and the blank line. */
const endLength = 4
const nothing = new Uint8Array(0)

/** Parses the heads of one connection. Programs mostly send the same head repeatedly on a connection. */
export class HeadParser {
  #head: RequestHead | undefined
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
  get repeated(): RequestHead {
    return this.#head!
  }

  /**
   * Parses the head that ends with the blank line at `end`.
   *
   * @throws MalformedError
   */
  parse(input: Buffer, end: number): RequestHead {
    const text = input.toString('latin1', 0, end)
    if (this.#head !== undefined && text === this.#text) {
      // Copied, because the input may be wiped with the body in it.
      this.#repeated = new Uint8Array(input.subarray(0, end + endLength))
      return this.#head
    }
    this.#head = parse(text)
    this.#text = text
    this.#repeated = nothing
    return this.#head
  }
}
