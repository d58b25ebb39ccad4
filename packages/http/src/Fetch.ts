/** Converts between the two forms of a handler: the host's own and the web-standard one. */
import { BodyError, Pieces, tooLarge } from './BodyReader.js'
import { defaultLimits } from './Limits.js'
import { textResponse, toRequest, unreadResponse } from './lightMessages.js'
import {
  type BodySource,
  type ConnectionInfo,
  dropConnection,
  type FetchHandler,
  type HostHandler,
  type HostResponse,
  type RawHandler,
  type RawRequest,
  type RawResponse,
} from './Message.js'

/** The raw handlers behind handlers made by `toFetch`. The host calls them directly. */
const rawHandlers = new WeakMap<FetchHandler, RawHandler>()

/** Options of {@link toFetch}. */
export type ToFetchOptions = {
  /**
   * The longest body that is read.
   * @default 1 MiB
   */
  bodyBytes?: number
}

/**
 * Returns the web-standard form of a raw handler, for any server. A `Server` of this package calls the raw form
 * directly.
 *
 * @example
 * ```ts
 * const fetch = toFetch(() => ({ status: 200, headers: ['Content-Type', 'text/plain'], body: 'hello' }))
 * const response = await fetch(new Request('http://localhost/'))
 * ```
 */
export function toFetch(
  handler: RawHandler,
  { bodyBytes = defaultLimits.bodyBytes }: ToFetchOptions = {},
): FetchHandler {
  const fetch: FetchHandler = async (request, info) => {
    const response = await handler(toRawRequest(request, info, bodyBytes))
    return response === dropConnection ? Response.error() : toResponse(response, request.method)
  }
  rawHandlers.set(fetch, handler)
  return fetch
}

function toRawRequest(request: Request, info: ConnectionInfo | undefined, limit: number): RawRequest {
  const { headers, signal } = request
  const url = new URL(request.url)
  return {
    method: request.method,
    target: url.pathname + url.search,
    // Hosts omit the header if the URL contains the host.
    header: (name) => headers.get(name) ?? (name === 'host' ? url.host : undefined),
    localAddress: () => info?.localAddress,
    remoteAddress: () => info?.remoteAddress,
    onClose: (listener) => {
      if (signal.aborted) queueMicrotask(listener)
      else signal.addEventListener('abort', listener, { once: true })
    },
    authenticated: (holder) => info?.authenticated?.(holder) ?? true,
    id: info?.requestId,
    matched: (route) => info?.matched?.(route),
    concerns: (payment) => info?.concerns?.(payment),
    body: (lower = limit) => readBody(request, Math.min(limit, lower)),
  }
}

async function readBody(request: Request, limit: number): Promise<Buffer> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge(limit)
  const pieces = new Pieces(limit)
  for await (const chunk of request.body ?? []) {
    pieces.add(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
  }
  return pieces.take()
}

/** Secret bytes are wiped immediately: a `Response` has its own copy, for which the server is responsible. */
function toResponse(raw: RawResponse, method: string): Response {
  const response = copyToResponse(raw, method)
  if (raw.wipe === true && raw.body instanceof Uint8Array) raw.body.fill(0)
  return response
}

function copyToResponse({ status, headers, body }: RawResponse, method: string): Response {
  const pairs: [string, string][] = []
  for (let i = 0; i < headers.length; i += 2) pairs.push([headers[i]!, headers[i + 1]!])
  if (hasNoBody(status)) return new Response(null, { status, headers: pairs })
  if (method !== 'HEAD') return new Response(body, { status, headers: pairs })
  return new Response(null, { status, headers: [...pairs, ['Content-Length', String(Buffer.byteLength(body))]] })
}

/** RFC 9110, section 6.4.1. */
function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

/** The dependencies for serving a fetch handler. */
export type FetchHost = {
  errorResponse: (status: number, message: string) => RawResponse
  onError: (error: unknown) => void
}

/** Returns the form in which a connection calls a fetch handler. An error of the handler becomes a response. */
export function fromFetch(fetch: FetchHandler, host: FetchHost): HostHandler {
  const rawHandler = rawHandlers.get(fetch)
  if (rawHandler !== undefined) return rawHandler
  return (raw) => callFetch(fetch, () => toRequest(raw), infoOf(raw), host)
}

/** Calls a fetch handler for any host. */
export async function callFetch(
  fetch: FetchHandler,
  toRequest: () => Request,
  info: ConnectionInfo,
  { errorResponse, onError }: FetchHost,
): Promise<HostResponse> {
  let request: Request
  try {
    request = toRequest()
  } catch (error) {
    return errorResponse(400, `invalid HTTP request: ${(error as Error).message}`)
  }
  try {
    return await fromResponse(await fetch(request, info), request.method === 'HEAD')
  } catch (error) {
    if (error instanceof BodyError) return errorResponse(error.status, error.message)
    // Usually thrown by code that waited on `request.signal`.
    if ((error as Error | undefined)?.name !== 'AbortError') onError(error)
    return errorResponse(500, 'internal server error')
  }
}

/** The default of `errorResponse`. */
export function jsonError(status: number, message: string): RawResponse {
  return { status, headers: ['Content-Type', 'application/json'], body: `${JSON.stringify({ message })}\n` }
}

/** Looked up on access, because most handlers never need it. */
function infoOf(raw: RawRequest): ConnectionInfo {
  const { localAddress, remoteAddress, authenticated, id, matched, concerns, body } = raw
  return {
    authenticated,
    requestId: id,
    matched,
    concerns,
    readBody: body,
    textResponse,
    get localAddress() {
      return localAddress?.()
    },
    get remoteAddress() {
      return remoteAddress?.()
    },
  }
}

/** The host controls framing: headers that a handler forwards from another server may no longer fit the body. */
const framingHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade'])

async function fromResponse(response: Response, isHead: boolean): Promise<HostResponse> {
  const unread = isHead ? undefined : unreadResponse(response)
  if (unread !== undefined) return unread
  if (response.type === 'error') return dropConnection
  const { status } = response
  const headers: string[] = []
  // RFC 9110, section 8.6: a 204 has no length.
  const hasLength = isHead && status !== 204
  // Iterates over each set-cookie separately.
  for (const [name, value] of response.headers) {
    if (!framingHeaders.has(name) && (hasLength || name !== 'content-length')) headers.push(name, value)
  }
  if (isHead) {
    // Fails if the stream is locked, or if its source fails.
    response.body?.cancel().catch(() => {})
    return { status, headers, body: undefined }
  }
  if (response.body === null) return { status, headers, body: '' }
  return { status, headers, body: await readOrStream(response.body) }
}

/** Enough for a stream with available bytes to deliver them and close. */
const closingTicks = 8

/** Returns the whole body if its bytes are already available, as for texts and byte arrays. */
async function readOrStream(stream: ReadableStream<Uint8Array>): Promise<Uint8Array | string | BodySource> {
  const reader = stream.getReader()
  const first = reader.read()
  // Waits no longer, because the head of a stream is sent before its first piece.
  const start = (await settled(first)) ?? (await Promise.race([first, nextTurn()]))
  if (start === undefined) return toSource(reader, [first])
  if (start.done) return ''
  const second = reader.read()
  const end = await settled(second).catch(() => undefined)
  return end?.done === true ? start.value : toSource(reader, [first, second])
}

type Read = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>

/** Returns the result of a read if it is available within a few ticks. */
async function settled(read: Promise<Read>): Promise<Read | undefined> {
  let result: Read | undefined
  let isFailed = false
  read.then(
    (value) => {
      result = value
    },
    () => {
      isFailed = true
    },
  )
  for (let i = 0; i < closingTicks && result === undefined && !isFailed; i++) await undefined
  return isFailed ? read : result
}

function nextTurn(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(resolve, undefined))
}

/** `ahead` contains the reads that have begun. */
function toSource(reader: ReadableStreamDefaultReader<Uint8Array>, ahead: Promise<Read>[]): BodySource {
  return {
    next: async () => {
      const { value } = await (ahead.shift() ?? reader.read())
      return value
    },
    cancel: () => void reader.cancel().catch(() => {}),
  }
}
