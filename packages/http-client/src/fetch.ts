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

const decoder = new TextDecoder()

/** One growing buffer: a server that sends single bytes must not cost an object for each. */
export class CollectedBody {
  readonly #maxBytes: number
  #bytes = new Uint8Array()
  #length = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Copies and wipes the piece, because it may hold a key. Returns false if the body is too large. */
  add(piece: Uint8Array): boolean {
    const length = this.#length + piece.length
    if (length > this.#maxBytes) return false
    if (length > this.#bytes.length) this.#grow(length)
    this.#bytes.set(piece, this.#length)
    this.#length = length
    piece.fill(0)
    return true
  }

  wipe(): void {
    this.#bytes.fill(0)
  }

  toResponse(status: number, header: TransportResponse['header']): TransportResponse {
    const body = this.#bytes.subarray(0, this.#length)
    return { status, header, body, text: () => decoder.decode(body) }
  }

  #grow(length: number): void {
    const larger = new Uint8Array(Math.max(length, Math.min(2 * this.#bytes.length, this.#maxBytes)))
    larger.set(this.#bytes)
    this.wipe()
    this.#bytes = larger
  }
}

/** Programs replace `fetch` for tests or tracing. Their replacement is used then. */
const nodeFetch = globalThis.fetch
/**
 * The symbols under which a program configures how `fetch` connects, such as with a proxy or custom certificate
 * authorities. Node up to version 22 has the first one, Node 24 has both, and Node 26 and later use only the second.
 */
const dispatchers = [1, 2].map((version) => Symbol.for(`undici.globalDispatcher.${version}`))

type Dispatcher = { readonly dispatch?: unknown; readonly constructor: { readonly name: string } }

/** On Node, whether `fetch` is the original and connects like `node:http`, so that a request may use the latter. */
export function usesPlainFetch(): boolean {
  if (globalThis.fetch !== nodeFetch || nodeFetch.name !== 'fetch') return false
  const { NODE_USE_ENV_PROXY: isProxied, NODE_OPTIONS: options = '' } = process.env
  if (isProxied !== undefined || process.execArgv.includes('--use-env-proxy')) return false
  if (options.includes('--use-env-proxy')) return false
  const own = dispatchers.map((name) => Reflect.get(globalThis, name) as Dispatcher | undefined)
  // Node 26 gives older versions of undici a wrapper of its dispatcher, which its own `fetch` does not use.
  const used = own[1] !== undefined && own[0]?.constructor.name === 'Dispatcher1Wrapper' ? own.slice(1) : own
  return used.every((one) => one === undefined || isPlainDispatcher(one))
}

/** Whether the agent was created without options or interceptors. */
function isPlainDispatcher(own: Dispatcher): boolean {
  const prototype = Object.getPrototypeOf(own) as Dispatcher
  if (prototype.constructor.name !== 'Agent' || own.dispatch !== prototype.dispatch) return false
  const key = Object.getOwnPropertySymbols(own).find(({ description }) => description === 'options')
  const options: unknown = key === undefined ? undefined : Reflect.get(own, key)
  if (typeof options !== 'object' || options === null) return false
  return Object.values(options).every((value) => value === undefined || value === Number.POSITIVE_INFINITY)
}
