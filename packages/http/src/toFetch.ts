/** Offers a handler in the host's own form as a web-standard one. */
import { BodyBytes, tooLarge } from './BodyReader.js'
import { defaultLimits } from './Limits.js'
import {
  type ConnectionInfo,
  dropConnection,
  type FetchHandler,
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

/** The raw handler behind a handler made by {@link toFetch}; undefined for any other. */
export function rawHandlerOf(fetch: FetchHandler): RawHandler | undefined {
  return rawHandlers.get(fetch)
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
  const bytes = new BodyBytes({ limit })
  try {
    for await (const chunk of request.body ?? []) {
      bytes.add(chunk)
      chunk.fill(0)
    }
  } catch (error) {
    bytes.discard()
    throw error
  }
  return bytes.take()
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
