/**
 * A transport on the web platform's `fetch`, for browsers and edge runtimes, or for a `fetch` that the caller passes.
 */
import { LatchkeyError } from '@latchkey/algorand'
import {
  type Transport,
  TransportError,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
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
  const { server, path, method, headers, body, signal: given } = request
  given?.throwIfAborted()
  const controller = new AbortController()
  const { signal } = controller
  const timer = setTimeout(() => controller.abort(new TransportError('timeout')), request.timeoutMs)
  const onAbort = (): void => controller.abort(given?.reason)
  given?.addEventListener('abort', onAbort, { once: true })
  request.onStart?.(() => controller.abort(new TransportError('broken')))
  let hasResponse = false
  try {
    // No header with a token follows a redirect.
    const options: RequestInit = { method, headers, signal, redirect: 'manual', credentials: 'omit' }
    const url = `http${server.isSecure ? 's' : ''}://${server.authority}${path}`
    const response = await fetch(url, body === undefined ? options : { ...options, body })
    hasResponse = true
    return toResponse(response, await collect(response, request.maxResponseBytes))
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw error instanceof LatchkeyError ? error : failureOf(error, hasResponse)
  } finally {
    clearTimeout(timer)
    given?.removeEventListener('abort', onAbort)
  }
}

function toResponse({ status, headers }: Response, body: Uint8Array): TransportResponse {
  return {
    status,
    body,
    header: (name) => headers.get(name) ?? undefined,
    text: () => new TextDecoder().decode(body),
  }
}

/** Reads chunk by chunk, so that no more than the limit is ever in memory. Wipes the chunks. */
async function collect(response: Response, maxBytes: number): Promise<Uint8Array> {
  const reader = response.body?.getReader()
  if (reader === undefined) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > maxBytes) {
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

/** Node's `fetch` reports the cause. Browsers hide it, so that pages cannot scan a network. */
function failureOf(error: unknown, hasResponse: boolean): TransportError {
  const { cause } = error as { cause?: { code?: unknown } }
  const systemCode = typeof cause?.code === 'string' ? cause.code : undefined
  return TransportError.ofSystem(systemCode, { cause: error, hasResponse })
}
