/**
 * Requests on keep-alive connections of `node:http`: Node's `fetch` takes several times the processor time of the exchange.
 * Only requests that follow no redirect, as those with a payment, so that there is little of `fetch` to repeat here.
 */
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import type { DirectRequest, DirectSend } from './DirectSend.js'

type Protocol = { readonly start: (options: RequestOptions) => ClientRequest; readonly agent: Agent }

const agentOptions = { keepAlive: true, maxSockets: 256, maxFreeSockets: 16, timeout: 60_000 }
const protocols = new Map<string, Protocol>()
/** As long as `fetch` waits for the head of a response, and for each piece of its body. */
const idleMs = 300_000
/** What `fetch` sends, too. */
const defaultHeaders = { accept: '*/*', 'accept-language': '*', 'sec-fetch-mode': 'cors', 'user-agent': 'node' }
const hopHeaders = ['connection', 'expect', 'host', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']
const statusesWithoutBody = new Set([101, 204, 205, 304])

/** Programs replace it, to test or to trace; then theirs is used. */
const nodeFetch = globalThis.fetch
/** Where a program has set how `fetch` connects, by a proxy for example. */
const dispatcher = Symbol.for('undici.globalDispatcher.1')

export const sendDirectly: DirectSend = (request) => (isDirect(request) ? exchange(request) : undefined)

function isDirect({ redirect, headers }: DirectRequest): boolean {
  if (redirect !== 'manual' || hopHeaders.some((name) => headers.has(name))) return false
  const own = (globalThis as { [dispatcher]?: object | undefined })[dispatcher]
  const isOfNode = globalThis.fetch === nodeFetch && nodeFetch.name === 'fetch'
  const isProxied = process.env['NODE_USE_ENV_PROXY'] !== undefined || process.execArgv.includes('--use-env-proxy')
  return isOfNode && !isProxied && (own === undefined || own.constructor.name === 'Agent')
}

/** The modules are loaded with the first request: a program that pays for nothing starts without them. */
function protocolOf(name: string): Protocol {
  let protocol = protocols.get(name)
  if (protocol === undefined) {
    const { Agent, request: start } = process.getBuiltinModule(name === 'https:' ? 'node:https' : 'node:http')
    protocol = { start, agent: new Agent(agentOptions) }
    protocols.set(name, protocol)
  }
  return protocol
}

function exchange({ url: address, method, headers, body, signal }: DirectRequest): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const url = new URL(address)
    const { start, agent } = protocolOf(url.protocol)
    const request = start({ ...optionsOf(url, method, headers, body), agent })
    const abort = (): void => void request.destroy(signal!.reason as Error)
    signal?.addEventListener('abort', abort)
    request.setTimeout(idleMs, () => request.destroy(new Error(`nothing arrived for ${idleMs} ms`)))
    request.on('close', () => signal?.removeEventListener('abort', abort))
    request.on('error', (error) => reject(signal?.aborted ? signal.reason : failure('fetch failed', error)))
    request.on('response', (response) => {
      try {
        resolve(toResponse(response, url, method, signal))
      } catch (error) {
        request.destroy()
        reject(failure('fetch failed', error))
      }
    })
    if (body === undefined) request.end()
    else request.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1'), 'latin1')
  })
}

function optionsOf(url: URL, method: string, headers: Headers, body: Uint8Array | undefined): RequestOptions {
  const { protocol, port, pathname, search } = url
  const encodings = protocol === 'https:' ? 'br, gzip, deflate' : 'gzip, deflate'
  const needsLength = body !== undefined || method === 'POST' || method === 'PUT'
  return {
    protocol,
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    path: `${pathname}${search}`,
    method,
    headers: {
      ...defaultHeaders,
      'accept-encoding': encodings,
      ...Object.fromEntries(headers),
      ...(needsLength ? { 'content-length': body?.length ?? 0 } : {}),
    },
  }
}

function toResponse(message: IncomingMessage, url: URL, method: string, signal: AbortSignal | undefined): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = message
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!)
  const hasBody = method !== 'HEAD' && !statusesWithoutBody.has(status)
  if (!hasBody) message.resume()
  const body = hasBody ? toStream(unpacked(message), message, signal) : null
  const response = new Response(body, { status, statusText, headers })
  const { href } = url
  // What a constructor cannot set.
  return Object.defineProperty(response, 'url', { value: url.hash === '' ? href : href.slice(0, -url.hash.length) })
}

/** Each encoding as `fetch` reads it; of others the bytes stay as they are. */
function unpacked(message: IncomingMessage): Readable {
  const names = (message.headers['content-encoding'] ?? '').toLowerCase().split(',')
  let body: Readable = message
  if (message.headers['content-encoding'] === undefined) return body
  const zlib = process.getBuiltinModule('node:zlib')
  for (const name of names.map((one) => one.trim()).reverse()) {
    const flush = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH }
    const next =
      name === 'gzip' || name === 'x-gzip'
        ? zlib.createGunzip(flush)
        : name === 'deflate'
          ? zlib.createInflate(flush)
          : name === 'br'
            ? zlib.createBrotliDecompress()
            : undefined
    // An error is passed on to the last one.
    if (next !== undefined) body = pipeline(body, next, () => {})
  }
  return body
}

function toStream(
  body: Readable,
  message: IncomingMessage,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: 'bytes',
    start: (controller) => {
      let isOver = false
      const fail = (error?: Error): void => {
        if (isOver) return
        isOver = true
        controller.error(signal?.aborted ? signal.reason : failure('terminated', error))
      }
      body.on('data', (piece: Buffer) => {
        // A copy: the memory of pieces is shared.
        if (!isOver) controller.enqueue(new Uint8Array(piece))
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
      message.destroy()
    },
  })
}

function failure(message: string, cause: unknown): TypeError {
  return new TypeError(message, { cause })
}
