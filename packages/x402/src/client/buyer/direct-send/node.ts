/**
 * Sends requests on keep-alive connections of `node:http`, because Node's `fetch` takes several times the processor
 * time of the exchange. Supports only requests that follow no redirect, such as those with a payment, so that little of
 * `fetch` is repeated here.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { KeptConnections, usesPlainFetch } from '@latchkey/algod'
import { paymentSignature } from '@latchkey/x402-wire'
import { asFetched, noteWhole } from '../asFetched.js'
import type { DirectRequest, DirectSend, IsStaleFailure } from './DirectSend.js'
import { unpack } from './unpack.js'

type Protocol = { readonly start: (options: RequestOptions) => ClientRequest; readonly kept: KeptConnections }

/**
 * An idle connection is kept as long as `fetch` keeps it, or shorter if the server asks for that. Most servers close
 * theirs after 5 seconds.
 */
const keptMs = 4_000
const agentOptions = { keepAlive: true, maxFreeSockets: 16, timeout: keptMs }
const protocols = new Map<string, Protocol>()
/** The time that `fetch` waits for the head of a response, and for each piece of its body. */
const idleMs = 300_000
/** The time that `fetch` waits for a connection. */
const connectMs = 10_000
/** The bytes buffered before the body is read. A short body that is never read must not occupy its connection. */
const maxUnreadBytes = 64 * 1024
/** The headers that `fetch` sends too. */
const defaultHeaders = Object.entries({
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
})
/** Requests of other methods without a body send a length of 0. */
const methodsWithoutBody = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])
const hopHeaders = ['connection', 'expect', 'host', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']
const statusesWithoutBody = new Set([101, 204, 205, 304])

/** RFC 9110, 9.2.2: these methods may be repeated automatically. */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS'])

export const sendDirectly: DirectSend = (request) => {
  if (!isDirect(request)) return undefined
  const response = exchange(request)
  // A payment that a seller may have taken is repeated with the buyer's secret, which is not available here.
  if (!repeatable.has(request.method) || request.headers.has(paymentSignature)) return response
  return response.catch((error: object) => {
    if (staleFailures.has(error)) return exchange(request, false)
    throw error
  })
}

/** Failures on connections that servers closed without notice after an earlier response. */
const staleFailures = new WeakSet<object>()

export const isStaleFailure: IsStaleFailure = (error) => staleFailures.has(error as object)

function isDirect({ url, redirect, headers }: DirectRequest): boolean {
  if (redirect !== 'manual' || !/^https?:/.test(url) || hopHeaders.some((name) => headers.has(name))) return false
  return usesPlainFetch()
}

/** The modules are loaded with the first request, so that a program that never pays starts without them. */
function protocolOf(name: string): Protocol {
  let protocol = protocols.get(name)
  if (protocol === undefined) {
    const { Agent, request: start } = process.getBuiltinModule(name === 'https:' ? 'node:https' : 'node:http')
    protocol = { start, kept: new KeptConnections(new Agent(agentOptions), keptMs) }
    protocols.set(name, protocol)
  }
  return protocol
}

/** @param isKept whether to use a kept-alive connection, and to keep it afterwards */
function exchange({ url: address, method, headers, body, signal }: DirectRequest, isKept = true): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const url = new URL(address)
    const { start, kept } = protocolOf(url.protocol)
    if (isKept) kept.prune()
    const list = headerList(url, method, headers, body)
    const request = start({ ...optionsOf(url, method), headers: list, agent: isKept && kept.agent })
    const abort = (): void => void request.destroy(signal!.reason as Error)
    signal?.addEventListener('abort', abort)
    request.on('socket', (socket) => limitConnecting(request, socket, url.protocol))
    request.setTimeout(idleMs)
    request.on('timeout', () => {
      // The timeout for idle connections also fires while connecting.
      if (!request.socket?.connecting) request.destroy(new Error(`nothing arrived for ${idleMs} ms`))
    })
    request.on('close', () => {
      signal?.removeEventListener('abort', abort)
      // Node reports no error or response after a protocol upgrade. After a response or an error, this call has no
      // effect.
      reject(signal?.aborted ? signal.reason : failure('fetch failed', new Error('other side closed')))
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted) return reject(signal.reason)
      const failed = failure('fetch failed', error)
      if (request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) staleFailures.add(failed)
      reject(failed)
    })
    const respond = (message: IncomingMessage): void => {
      try {
        if (message.destroyed && !message.complete) return
        resolve(toResponse(message, url, method, signal))
      } catch (error) {
        request.destroy()
        reject(failure('fetch failed', error))
      }
    }
    // By the next tick, the bytes that arrived with the head have been read, so most bodies are complete.
    request.on('response', (message) => {
      if (isKept) kept.note(message)
      process.nextTick(respond, message)
    })
    if (body === undefined) request.end()
    else request.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1'), 'latin1')
  })
}

function limitConnecting(request: ClientRequest, socket: Socket, protocol: string): void {
  if (!socket.connecting) return
  const timer = setTimeout(() => request.destroy(new Error(`no connection within ${connectMs} ms`)), connectMs)
  const stop = (): void => clearTimeout(timer)
  socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', stop)
  socket.once('close', stop)
}

function optionsOf(url: URL, method: string): RequestOptions {
  const { protocol, port, pathname, search } = url
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { protocol, hostname, port, path: `${pathname}${search}`, method, setHost: false }
}

/** Node writes a header list unchanged, instead of storing the headers by name. */
function headerList(url: URL, method: string, headers: Headers, body: Uint8Array | undefined): string[] {
  const list = ['host', url.host]
  for (const [name, value] of defaultHeaders) if (!headers.has(name)) list.push(name, value)
  if (!headers.has('accept-encoding')) {
    list.push('accept-encoding', url.protocol === 'https:' ? 'br, gzip, deflate' : 'gzip, deflate')
  }
  const hasLength = body !== undefined || !methodsWithoutBody.has(method)
  for (const [name, value] of headers) if (!hasLength || name !== 'content-length') list.push(name, value)
  if (hasLength) list.push('content-length', String(body?.length ?? 0))
  return list
}

function toResponse(message: IncomingMessage, url: URL, method: string, signal: AbortSignal | undefined): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = message
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!)
  const hasBody = method !== 'HEAD' && !statusesWithoutBody.has(status)
  if (!hasBody) message.resume()
  const isWhole = hasBody && message.complete && !headers.has('content-encoding')
  const body = isWhole ? readWhole(message) : hasBody ? toStream(unpack(message), message, signal) : null
  const response = new Response(body, { status, statusText, headers })
  const { href } = url
  const address = url.hash === '' ? href : href.slice(0, -url.hash.length)
  const fetched = asFetched(response, { url: address, redirected: false, type: 'basic' })
  return isWhole ? noteWhole(fetched) : fetched
}

/**
 * Reads everything that has arrived, and the end of the message. Since Node 26 each call of `read` returns one piece.
 */
function readWhole(message: IncomingMessage): Uint8Array<ArrayBuffer> {
  const pieces: Buffer<ArrayBuffer>[] = []
  for (let piece = nextPiece(message); piece !== null; piece = nextPiece(message)) pieces.push(piece)
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

function nextPiece(message: IncomingMessage): Buffer<ArrayBuffer> | null {
  return message.read() as Buffer<ArrayBuffer> | null
}

function toStream(
  body: Readable,
  message: IncomingMessage,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  let isOver = false
  return new ReadableStream(
    {
      type: 'bytes',
      start: (controller) => {
        const fail = (error?: Error): void => {
          if (isOver) return
          isOver = true
          controller.error(signal?.aborted ? signal.reason : failure('terminated', error))
        }
        body.on('data', (piece: Buffer) => {
          if (isOver) return
          // Copied, because pieces share their memory.
          controller.enqueue(new Uint8Array(piece))
          if ((controller.desiredSize ?? 0) <= 0) body.pause()
        })
        body.on('end', () => {
          if (isOver) return
          isOver = true
          controller.close()
          controller.byobRequest?.respond(0)
        })
        body.on('error', fail)
        body.on('close', () => fail(new Error('other side closed')))
      },
      pull: () => void body.resume(),
      cancel: () => {
        // Unpacked data may still arrive, but a closed stream accepts none.
        isOver = true
        body.destroy()
        message.destroy()
      },
    },
    { highWaterMark: maxUnreadBytes },
  )
}

function failure(message: string, cause: unknown): TypeError {
  return new TypeError(message, { cause })
}
