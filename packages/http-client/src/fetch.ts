/**
 * A transport on the web platform's `fetch`, for browsers and edge runtimes, or for a `fetch` that the caller passes.
 */
import { LatchkeyError } from '@latchkey/algorand'
import {
  CollectedBody,
  type Transport,
  TransportError,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
  timerMs,
} from './Transport.js'

/** The used part of `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Sends requests with the `fetch` of the runtime, which manages the connections. */
export function createTransport(_options: TransportOptions = {}): Transport {
  return createFetchTransport((url, init) => globalThis.fetch(url, init))
}

/**
 * Sends requests with a `fetch`, which manages the connections. Requests are never repeated: browsers replace stale
 * connections themselves.
 */
export function createFetchTransport(fetch: Fetch): Transport {
  return { send: (request) => send(request, fetch), close: () => {}, hasUnixSockets: false }
}

async function send(request: TransportRequest, fetch: Fetch): Promise<TransportResponse> {
  const { signal: given } = request
  given?.throwIfAborted()
  const controller = new AbortController()
  const { signal } = controller
  const timer = setTimeout(() => controller.abort(new TransportError('timeout')), timerMs(request.timeoutMs))
  const onAbort = (): void => controller.abort(given?.reason)
  given?.addEventListener('abort', onAbort, { once: true })
  // A `fetch` that the caller passes may ignore the signal.
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  request.onStart?.(() => controller.abort(new TransportError('broken')))
  try {
    return await Promise.race([exchange(request, fetch, signal), aborted])
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    clearTimeout(timer)
    given?.removeEventListener('abort', onAbort)
  }
}

async function exchange(request: TransportRequest, fetch: Fetch, signal: AbortSignal): Promise<TransportResponse> {
  const { server, path, method, headers, body, maxResponseBytes } = request
  let hasResponse = false
  try {
    // No header with a token follows a redirect.
    const options: RequestInit = { method, headers, signal, redirect: 'manual', credentials: 'omit' }
    const url = `http${server.isSecure ? 's' : ''}://${server.authority}${path}`
    const response = await fetch(url, body === undefined ? options : { ...options, body })
    hasResponse = true
    const collected = await collect(response, maxResponseBytes)
    return collected.toResponse(response.status, (name) => response.headers.get(name) ?? undefined)
  } catch (error) {
    throw error instanceof LatchkeyError ? error : failureOf(error, hasResponse)
  }
}

/** Reads chunk by chunk, so that no more than the limit is ever in memory. */
async function collect({ body }: Response, maxBytes: number): Promise<CollectedBody> {
  const collected = new CollectedBody(maxBytes)
  const reader = body?.getReader()
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    if (collected.add(read.value)) continue
    collected.wipe()
    reader?.cancel().catch(() => {})
    throw new TransportError('too_large')
  }
  return collected
}

/** Node's `fetch` reports the cause. Browsers hide it, so that pages cannot scan a network. */
function failureOf(error: unknown, hasResponse: boolean): TransportError {
  const { code, syscall = 'connect' } = ((error as Error).cause ?? {}) as { code?: unknown; syscall?: unknown }
  const systemCode = typeof code === 'string' ? code : undefined
  const isConnecting = !hasResponse && (syscall === 'connect' || syscall === 'getaddrinfo')
  return TransportError.ofSystem(systemCode, { cause: error, hasResponse, isConnecting })
}
