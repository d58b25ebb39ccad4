/**
 * A transport on the web platform's `fetch`, for browsers and edge runtimes, or for a `fetch` that the caller passes.
 */
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

export function createFetchTransport(fetch: Fetch): Transport {
  return { send: (request) => send(request, fetch), close: async () => {} }
}

async function send(request: TransportRequest, fetch: Fetch): Promise<TransportResponse> {
  const { url, path, method, headers, body, timeoutMs, maxResponseBytes } = request
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new TransportError('timeout')), timeoutMs)
  request.onStart?.(() => controller.abort(new TransportError('network')))
  try {
    const { signal } = controller
    const options: RequestInit = { method, headers, signal, redirect: 'manual', credentials: 'omit' }
    const response = await fetch(url.origin + path, body === undefined ? options : { ...options, body })
    return { status: response.status, text: await readText(response, maxResponseBytes) }
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason
    throw error instanceof TransportError ? error : failureOf(error)
  } finally {
    clearTimeout(timer)
  }
}

/** Reads chunk by chunk, so that no more than the limit is ever in memory. */
async function readText(response: Response, maxBytes: number): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.length
    if (bytes > maxBytes) {
      await reader.cancel()
      throw new TransportError('too_large')
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** Node's `fetch` reports the cause. Browsers hide it, so that pages cannot scan a network. */
function failureOf(error: unknown): TransportError {
  const { cause } = error as { cause?: { code?: unknown } }
  return new TransportError('network', {
    systemCode: typeof cause?.code === 'string' ? cause.code : undefined,
    cause: error,
  })
}
