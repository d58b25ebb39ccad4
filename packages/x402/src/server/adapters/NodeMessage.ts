/** The requests and responses of `node:http` and `node:http2`: as a web `Request` without its body, and how a response is sent. */
import { isAscii } from 'node:buffer'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { type HeaderList, mergeHeader, sharedCacheHeaders } from '../gate/responses.js'
import { newRequest } from '../routes/GateRequest.js'
import { Overlay, withMembers } from './Overlay.js'
import { watchPipelined } from './pipelined.js'

/** A request of `node:http` or `node:http2`. */
export type NodeRequest = IncomingMessage | Http2ServerRequest
/** A response of `node:http` or `node:http2`. */
export type NodeResponse = ServerResponse | Http2ServerResponse

/** A host name or IP address, and a port. Excludes characters that would continue the URL. */
const host = /^([A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$/

/**
 * `target` is the path as it was sent, before a framework removed a prefix. Throws a TypeError if the request has no
 * valid URL.
 */
export function webRequest(message: NodeRequest, target: string, signal: AbortSignal): Request {
  const isTls = (message.socket as TLSSocket | undefined)?.encrypted === true
  const pseudoHeader = message.headers[':authority'] as string | undefined
  const authority = message.headers.host ?? pseudoHeader ?? 'localhost'
  if (!host.test(authority)) throw new TypeError('the Host header is not a host')
  // RFC 9113, section 8.3.1: such a request is malformed, and programs differ in which of the two they read.
  if (pseudoHeader !== undefined && pseudoHeader.toLowerCase() !== authority.toLowerCase()) {
    throw new TypeError('the Host header differs from :authority')
  }
  // With HTTP/2, a target may be any text. As a URL, "x:/paid" has the path of a paid route.
  if (!target.startsWith('/')) throw new TypeError('the target has no path')
  const url = `${isTls ? 'https' : 'http'}://${authority}${target}`
  const headers = new Headers()
  for (const [name, value] of Object.entries(message.headers)) {
    if (value === undefined || name.startsWith(':')) continue
    headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  const { method = 'GET' } = message
  // RFC 8441: an upgrade, which is a GET with HTTP/1.1, is a CONNECT with a protocol here.
  const protocol = message.headers[':protocol']
  if (method.toUpperCase() === 'CONNECT' && protocol !== undefined) {
    headers.set('Upgrade', String(protocol))
    return newRequest(url, { method: 'GET', headers, signal })
  }
  return newRequest(url, { method, headers, signal })
}

/** Otherwise a client would wait for the missing bytes, or see a protocol error. */
export function hasItsLength(response: ServerResponse, status: number, bytes: number): boolean {
  const length = response.getHeader('content-length')
  const hasNone = response.req?.method === 'HEAD' || status === 204 || status === 304
  return length === undefined || hasNone || Number(length) === bytes
}

/** The encoding of a chunk that a handler writes. */
export function encodingOf(encoding: unknown): BufferEncoding {
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8'
}

/** Applies the arguments of `writeHead` after the status: a message, headers in one of three forms, or both. */
export function setHead(response: ServerResponse, rest: readonly unknown[]): void {
  const [message] = rest
  if (typeof message === 'string') setMessage(response, message)
  const given = rest.find((one) => typeof one === 'object' && one !== null)
  if (given === undefined) return
  if (!Array.isArray(given)) {
    for (const [name, value] of Object.entries(given as OutgoingHttpHeaders)) {
      if (value !== undefined) response.setHeader(name, value)
    }
    return
  }
  const isNested = Array.isArray(given[0])
  const pairs = isNested ? (given as [string, string][]) : pairsOf(given as string[])
  for (const name of new Set(pairs.map(([one]) => one))) response.removeHeader(name)
  for (const [name, value] of pairs) response.appendHeader(name, value)
}

/** HTTP/2 has no status text, and Node warns if one is set. */
export function setMessage(response: ServerResponse, message: string): void {
  if (!('stream' in response)) response.statusMessage = message
}

/** Sets exactly these headers and removes all others. */
export function setHeaders(
  response: ServerResponse,
  headers: readonly (readonly [string, number | string | readonly string[]])[],
): void {
  const { sendDate } = response
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  for (const name of response.getHeaderNames()) if (!names.has(name.toLowerCase())) response.removeHeader(name)
  for (const [name, value] of headers) response.setHeader(name, value)
  // Node takes the removal of a Date header as a request to send none.
  response.sendDate = sendDate
}

/** The current headers of a response. */
export function headersOf(response: ServerResponse): [string, string][] {
  return Object.entries(response.getHeaders()).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
  )
}

/** Adds the headers of the gate to those of the response. */
export function addHeaders(response: ServerResponse, headers: HeaderList): void {
  for (const [name, value] of [...sharedCacheHeaders(response.getHeaderNames(), headers), ...headers]) {
    const before = response.getHeader(name)
    if (name.toLowerCase() === 'set-cookie') {
      response.setHeader(name, [...new Set([...[before ?? []].flat().map(String), value])])
      continue
    }
    // `no-store` of the gate replaces any other value.
    const isMerged = value !== 'no-store' && before !== undefined
    response.setHeader(name, isMerged ? mergeHeader(name, String(before), value) : value)
  }
}

function pairsOf(list: readonly string[]): [string, string][] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1]!] as [string, string]] : []))
}

/**
 * Adds headers to a streamed response last, so that the handler cannot remove them. `onHead` gets the handler's own
 * headers, and may send another response.
 */
export function addHeadersOnSend(
  nodeResponse: NodeResponse,
  headers: HeaderList,
  onHead: (status: number, headers: HeaderList) => void = () => {},
): void {
  const response = nodeResponse as ServerResponse
  const own = { writeHead: response.writeHead.bind(response), end: response.end.bind(response) }
  const add = (): void => {
    overlay.remove()
    // Programs around the handler may change the headers from here on, for example to compress the body.
    const own = headersOf(response)
    addHeaders(response, headers)
    onHead(response.statusCode, own)
  }
  const writeHead = (status: number, ...rest: unknown[]): ServerResponse => {
    response.statusCode = status
    setHead(response, rest)
    add()
    return response.headersSent ? response : own.writeHead(status)
  }
  // With HTTP/2, a response without a body ends without `writeHead`.
  const end = (...args: never[]): ServerResponse => {
    add()
    return own.end(...args)
  }
  const overlay = new Overlay(response, {
    writeHead: { value: writeHead, writable: true },
    end: { value: end, writable: true },
  })
}

/**
 * A framework that gets an error closes the connection. A response that the handler has ended, and the buyer has paid
 * for, is sent first. `onCut` is called if the handler has not ended.
 */
export function sendBeforeDestroy(request: NodeRequest, response: NodeResponse, onCut: () => void): void {
  const { socket } = request
  const destroy = (error?: Error): void => {
    const { writableEnded, writableFinished } = response as ServerResponse
    if (!writableEnded) onCut()
    if (!writableEnded || writableFinished) socket.destroy(error)
    else response.once('finish', () => socket.destroy(error))
  }
  const overlay = new Overlay(request, { socket: { value: withMembers(socket, { destroy }), writable: true } })
  response.once('close', () => overlay.remove())
}

/** RFC 9113, 7: INTERNAL_ERROR. */
const internalError = 2

/** Breaks off an unfinished response, so that its client does not take a part for the whole. */
export function cutResponse(response: NodeResponse, destroy: () => void): void {
  // A destroyed HTTP/2 stream without an error ends as if it were complete.
  if ('stream' in response) response.stream.close(internalError)
  else destroy()
}

/** Sends a web `Response`. */
export async function send(response: NodeResponse, webResponse: Response): Promise<void> {
  sendWhole(response as ServerResponse, await readResponse(webResponse))
}

/**
 * Calls `undelivered` if the connection closes before the whole response was sent. Call it before the response ends.
 */
export function onUndelivered(
  response: NodeResponse,
  undelivered: () => Promise<void>,
  onError: (error: unknown) => void,
): void {
  // With HTTP/2, the response emits `finish` even if its stream was reset.
  const output = 'stream' in response ? response.stream : response
  // `finish` is emitted, and `writableFinished` is true, even if the socket was gone before the end. Uses the request's
  // socket, because the response to a pipelined request has none yet.
  const { socket } = response.req
  watchPipelined(response)
  let isSent = false
  const check = (): void => {
    if (!isSent) undelivered().catch(onError)
  }
  if (output.closed || output.destroyed) {
    check()
    return
  }
  output.once('finish', () => {
    isSent = 'stream' in response ? !response.stream.aborted : socket?.destroyed === false
  })
  output.once('close', check)
}

type WholeResponse = { status: number; headers: HeaderList; body: Buffer }

export async function readResponse(response: Response): Promise<WholeResponse> {
  // Read before the body: if `Response` is replaced, reading the body loses headers that were set later.
  const { status } = response
  const headers = [...response.headers]
  return { status, headers, body: Buffer.from(await response.arrayBuffer()) }
}

export function sendWhole(response: ServerResponse, { status, headers, body }: WholeResponse): void {
  response.statusCode = status
  addHeaders(response, headers)
  endResponse(response, body)
}

/** A short body is sent in one write with the head, which Node does only for strings. */
const maxJoinedBytes = 16 * 1024

/** Only for ASCII, because some hosts have their own sockets and responses, which treat every string as UTF-8. */
export function endResponse(response: ServerResponse, body: Buffer): void {
  if (body.length > maxJoinedBytes || !isAscii(body)) response.end(body)
  else response.end(body.toString('latin1'), 'latin1')
}
