/** A transport on the web platform's `fetch`, for browsers, edge runtimes, and callers that pass their own. */
import { KmdClientError } from '../KmdClientError.js'
import { repeating } from './repeating.js'
import {
  type Examine,
  networkError,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  UnprovenPeerError,
} from './Transport.js'

/** The parts of `fetch` that are used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** For runtimes without data directories, which have no peer to examine. */
export function createTransport(_examine: Examine | undefined): Transport {
  return createFetchTransport((url, init) => globalThis.fetch(url, init), undefined)
}

/**
 * The connections of a `fetch` cannot be inspected, so the peer is examined over a separate connection before each
 * request. This leaves a gap between examination and request, which the `node:http` transport does not have.
 */
export function createFetchTransport(fetch: Fetch, examine: Examine | undefined): Transport {
  return {
    send: (request) => send(request, examine === undefined ? fetch : examined(fetch, examine, request)),
    close: () => {},
  }
}

/** Nothing is fetched after the signal has fired, because the body may already be wiped. */
function examined(fetch: Fetch, examine: Examine, { host, port }: TransportRequest): Fetch {
  return async (url, init) => {
    const doubt = await beforeAbort(examine.address(host, port), init.signal)
    if (doubt !== undefined) throw new UnprovenPeerError(doubt)
    return fetch(url, init)
  }
}

/** Rejects if the signal fires first. */
function beforeAbort<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

/** Browsers replace stale connections themselves and hide why a request failed, so requests are not repeated there. */
async function send(request: TransportRequest, fetch: Fetch): Promise<TransportResponse> {
  if (request.socketPath !== undefined) {
    const message = 'a Unix socket can be used on Node only, and not with a fetch of your own'
    throw new KmdClientError('invalid_argument', message, { operation: 'connect' })
  }
  request.signal?.throwIfAborted()
  const limit = startLimit(request)
  try {
    const attempt = { ...request, signal: limit.signal }
    const response = await repeating(attempt, () =>
      start(request, fetch, limit.signal).catch((error: unknown) => {
        throw failureOf(error)
      }),
    )
    const body = await collect(response, request.maxResponseBytes)
    return { status: response.status, header: (name) => response.headers.get(name) ?? undefined, body }
  } catch (error) {
    throw limit.signal.aborted ? limit.signal.reason : failureOf(error)
  } finally {
    limit.end()
  }
}

function start(request: TransportRequest, fetch: Fetch, signal: AbortSignal): Promise<Response> {
  const { authority, path, method, headers, body } = request
  // The daemon never redirects, and the token must not follow a redirect.
  const options: RequestInit = { method, headers, signal, redirect: 'manual', credentials: 'omit' }
  return fetch(`http://${authority}${path}`, body === undefined ? options : { ...options, body })
}

/** A signal that fires with the caller's signal or after the timeout. */
function startLimit({ signal, timeoutMs }: TransportRequest): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController()
  const onAbort = (): void => controller.abort(signal?.reason)
  const timer = setTimeout(() => controller.abort(new TransportError('timeout')), timeoutMs)
  signal?.addEventListener('abort', onAbort, { once: true })
  const end = (): void => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
  return { signal: controller.signal, end }
}

async function collect(response: Response, limit: number): Promise<Uint8Array> {
  const reader = response.body?.getReader()
  if (reader === undefined) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > limit) {
      await reader.cancel()
      throw new TransportError('too_large')
    }
    chunks.push(value)
  }
  const whole = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.length
    chunk.fill(0)
  }
  return whole
}

/** Node's `fetch` reports the cause of a failure. Browsers hide it, so that pages cannot scan a network. */
function failureOf(error: unknown): TransportError {
  if (error instanceof TransportError) return error
  const { cause } = error as { cause?: { code?: unknown } }
  return networkError(error, typeof cause?.code === 'string' ? cause.code : undefined)
}
