/** Writes responses as bytes to a socket. */
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { Limits } from './Limits.js'
import type { BodySource, HostResponse, RawResponse } from './Message.js'
import * as RequestId from './RequestId.js'

const reasons: { [status: number]: string } = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  206: 'Partial Content',
  301: 'Moved Permanently',
  302: 'Found',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Request Entity Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

/** Status, headers, and the values of `Connection` and `X-Request-Id` if they are sent. */
export type Head = {
  status: number
  headers: readonly string[]
  connection: string | undefined
  isHead: boolean
  requestId: string | undefined
  /** Whether a text body is known to have one byte per character. */
  isAscii?: boolean
}

/** Whether a body is written in pieces. */
export function isSource(body: Exclude<HostResponse, symbol>['body']): body is BodySource {
  return typeof body === 'object' && 'next' in body
}

/** Whether the body must be wiped once it is written. */
export function isSecret(response: Exclude<HostResponse, symbol>): response is RawResponse & { body: Uint8Array } {
  return 'wipe' in response && response.wipe === true && response.body instanceof Uint8Array
}

const keepAliveValues = new WeakMap<Limits, string>()
/**
 * The share of the idle time that clients are told, because a request may be in flight when they stop using a
 * connection.
 */
const announcedShare = 0.8

/**
 * The value of `Connection` for a client that keeps its connections, with the time they are kept (RFC 2068, section
 * 19.7.1.1). A client that sent a request later might find the connection being closed.
 */
export function keepAliveValue(limits: Limits): string {
  let value = keepAliveValues.get(limits)
  if (value === undefined) {
    const seconds = Math.floor((limits.idleMs * announcedShare) / 1000)
    value = seconds < 1 ? 'keep-alive' : `keep-alive\r\nKeep-Alive: timeout=${seconds}`
    keepAliveValues.set(limits, value)
  }
  return value
}

/** RFC 9110, section 6.4.1. */
export function hasBody({ status, isHead }: Head): boolean {
  return !isHead && status !== 204 && status !== 304
}

/** Uses a single write if possible. An `undefined` body has an unknown length. Returns the length of the body. */
export function write(socket: Socket, head: Head, body: string | Uint8Array | undefined): number {
  const { status, isHead } = head
  const bytes = body === undefined ? 0 : head.isAscii ? body.length : Buffer.byteLength(body)
  // RFC 9110, section 8.6: a 204 has no length; that of a 304 would be the length of the unchanged body.
  const hasLength = status !== 204 && status !== 304
  const text = headText(head, hasLength && body !== undefined ? `Content-Length: ${bytes}\r\n` : '')
  if (isHead || !hasLength || body === undefined) socket.write(text, 'latin1')
  // ASCII needs no encoding.
  else if (typeof body === 'string') socket.write(text + body, bytes === body.length ? 'latin1' : 'utf8')
  else writeBytes(socket, text, body)
  return bytes
}

/** Like `write`, for a secret body: neither the body nor a copy of it stays in memory. */
export function writeSecret(socket: Socket, head: Head, body: Uint8Array): void {
  const text = headText(head, `Content-Length: ${body.length}\r\n`)
  const whole = Buffer.allocUnsafeSlow(text.length + (head.isHead ? 0 : body.length))
  whole.write(text, 'latin1')
  if (!head.isHead) whole.set(body, text.length)
  body.fill(0)
  // Also called if the socket closes before the data is sent.
  socket.write(whole, () => whole.fill(0))
}

/** Beyond this size, copying a body behind its head costs more than a second write. */
const largestCopy = 16 * 1024

function writeBytes(socket: Socket, head: string, body: Uint8Array): void {
  if (body.length <= largestCopy) {
    const whole = Buffer.allocUnsafe(head.length + body.length)
    whole.write(head, 'latin1')
    whole.set(body, head.length)
    socket.write(whole)
    return
  }
  socket.cork()
  socket.write(head, 'latin1')
  socket.write(body)
  socket.uncork()
}

/**
 * How the peer finds the end of a body: by chunks (RFC 9112, section 7.1), by a length, or by the end of the
 * connection.
 */
export type Framing = 'chunked' | 'end' | { bytes: number }

/** Larger bodies are sent piece by piece, because only accepted pieces show that a slow peer is still reading. */
export const largestWhole = 128 * 1024
const pieceBytes = 64 * 1024

/** Splits an available body into pieces. */
export function inPieces(body: string | Uint8Array): BodySource {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  let offset = 0
  return {
    next: async () => {
      const piece = bytes.subarray(offset, offset + pieceBytes)
      offset += piece.length
      return piece.length === 0 ? undefined : piece
    },
    cancel: () => {},
  }
}

/**
 * Sends a body piece by piece, never ahead of the peer's reading. Rejects if the body fails; resolves early if the
 * socket closes. `onProgress` is called before each piece.
 */
export async function writeStream(
  socket: Socket,
  head: Head,
  source: BodySource,
  { framing, onProgress }: { framing: Framing; onProgress: (bytes: number) => void },
): Promise<void> {
  const isChunked = framing === 'chunked'
  socket.write(headText(head, framingText(framing)), 'latin1')
  for (;;) {
    const piece = await source.next()
    if (socket.destroyed) return
    if (piece === undefined) break
    if (!(piece instanceof Uint8Array)) throw new TypeError('the pieces of a response body must be bytes')
    if (piece.length === 0) continue
    onProgress(piece.length)
    writePiece(socket, piece, isChunked)
    if (socket.writableNeedDrain) await drained(socket)
    if (socket.destroyed) return
  }
  if (isChunked) socket.write('0\r\n\r\n', 'latin1')
}

function framingText(framing: Framing): string {
  if (framing === 'chunked') return 'Transfer-Encoding: chunked\r\n'
  return framing === 'end' ? '' : `Content-Length: ${framing.bytes}\r\n`
}

function writePiece(socket: Socket, piece: Uint8Array, isChunked: boolean): void {
  if (!isChunked) {
    socket.write(piece)
    return
  }
  socket.cork()
  socket.write(`${piece.length.toString(16)}\r\n`, 'latin1')
  socket.write(piece)
  socket.write('\r\n', 'latin1')
  socket.uncork()
}

/** Waits until more can be written, or the stream is closed. */
export function drained(socket: Pick<Writable, 'on' | 'off'>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done)
      socket.off('close', done)
      resolve()
    }
    socket.on('drain', done)
    socket.on('close', done)
  })
}

function headText({ status, headers, connection, requestId }: Head, length: string): string {
  const { text: start, hasDate } = headStart(status, headers, requestId !== undefined)
  let text = requestId === undefined ? start : `${start}${RequestId.headerName}: ${requestId}\r\n`
  if (!hasDate) text += `Date: ${dateNow()}\r\n`
  text += length
  return connection === undefined ? `${text}\r\n` : `${text}Connection: ${connection}\r\n\r\n`
}

type HeadStart = { readonly status: number; readonly hasId: boolean; readonly text: string; readonly hasDate: boolean }

/** Cached for frozen headers, which are the same in every response. */
const knownStarts = new WeakMap<readonly string[], HeadStart>()

/** Serializes the status line and the headers of the handler. */
function headStart(status: number, headers: readonly string[], hasId: boolean): HeadStart {
  const known = knownStarts.get(headers)
  if (known !== undefined && known.status === status && known.hasId === hasId) return known
  let text = `HTTP/1.1 ${status} ${reasons[status] ?? ''}\r\n`
  let hasDate = false
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    hasDate ||= name.length === 4 && name.toLowerCase() === 'date'
    // An id that the handler forwards from another server is not the one in the log.
    if (hasId && name.length === 12 && name.toLowerCase() === RequestId.lowerCaseName) continue
    text += `${name}: ${headers[i + 1]}\r\n`
  }
  const start = { status, hasId, text, hasDate }
  if (Object.isFrozen(headers)) knownStarts.set(headers, start)
  return start
}

let dateText = ''
let dateSecond = 0

function dateNow(): string {
  const second = Math.floor(Date.now() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}
