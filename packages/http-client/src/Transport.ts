/**
 * The interface for sending requests to a server, and the parts that its implementations share. Each runtime has an
 * implementation behind the package import `#transport`.
 */
import { LatchkeyError } from '@latchkey/algorand'
import type { Server } from './Server.js'

/** One exchange with a server. */
export type TransportRequest = {
  readonly server: Server
  /** Path and query. */
  readonly path: string
  readonly method: string
  readonly headers: { readonly [name: string]: string }
  readonly body?: Uint8Array<ArrayBuffer> | undefined
  /** When the signal fires, the request rejects with its reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  /**
   * Whether the request is sent again, on a new connection, if the server had closed the kept one before it responded.
   * The server may have seen the first request.
   *
   * @default false
   */
  readonly repeatsStale?: boolean | undefined
  /**
   * Whether the request gets a connection that no earlier request has used.
   *
   * @default false
   */
  readonly needsNewConnection?: boolean | undefined
  /** Called when the request is sent, with a function that cancels it and makes it fail. */
  readonly onStart?: ((cancel: () => void) => void) | undefined
}

/** The complete response of the server. */
export type TransportResponse = {
  readonly status: number
  /** The bytes of the body. No other copy is kept, so that the caller can wipe a secret. */
  readonly body: Uint8Array
  /** The value of a header, by its name in lower case. */
  header: (name: string) => string | undefined
  /** The body as UTF-8. */
  text: () => string
}

/** Sends requests to servers over its own connections. */
export type Transport = {
  /** Does not follow redirects. Rejects with {@link TransportError}, or with the reason of the signal. */
  readonly send: (request: TransportRequest) => Promise<TransportResponse>
  /** Closes idle connections immediately, and the others after their response. Later requests open new ones. */
  readonly close: () => void
  /** Whether requests can be sent to a Unix socket. */
  readonly hasUnixSockets: boolean
}

/** Both ends of a connection, from the client's side. */
export type Ends = { readonly local: Address; readonly remote: Address }

/** One end of a connection. */
export type Address = { readonly address: string; readonly port: number }

/** Options of {@link createTransport}. */
export type TransportOptions = {
  /**
   * The maximum number of connections to one server, if the transport manages them. Further requests wait.
   *
   * @default 64
   */
  readonly maxConnections?: number | undefined
  /**
   * Whether requests use `globalThis.fetch` if the program has replaced it, or has configured its connections with a
   * proxy or custom certificates.
   *
   * @default false
   */
  readonly followsFetch?: boolean | undefined
  /**
   * Checks the peer of each new connection on Node, before anything is sent to it. A rejection fails the request with
   * its reason.
   *
   * @default every peer is accepted
   */
  readonly approve?: ((ends: Ends) => Promise<void>) | undefined
}

/**
 * Why an exchange failed.
 *
 * - `refused`: no connection could be made, so nothing was sent.
 * - `broken`: the connection failed, or the response is not HTTP.
 * - `timeout`, `too_large`: the exchange reached a limit.
 */
export type TransportFailure = 'refused' | 'broken' | 'timeout' | 'too_large'

/** The optional parts of a {@link TransportError}. */
export type TransportErrorOptions = {
  readonly systemCode?: string | undefined
  readonly cause?: unknown
  readonly hasResponse?: boolean | undefined
  readonly isNewConnection?: boolean | undefined
  readonly isUnsent?: boolean | undefined
}

/** The reason for a failed exchange, for the caller to explain. */
export class TransportError extends LatchkeyError<TransportFailure> {
  override name = 'TransportError'
  /** The system's error code, such as `ECONNREFUSED`, if there is one. */
  readonly systemCode: string | undefined
  /** Whether a response had started. */
  readonly hasResponse: boolean
  /** Whether this was the connection's first request, which rules out an idle timeout. */
  readonly isNewConnection: boolean
  /** Whether certainly nothing was sent, so that any request may be repeated. */
  readonly isUnsent: boolean
  /** Whether an earlier attempt of the request may have reached the server. */
  wasSentBefore = false

  constructor(code: TransportFailure, options: TransportErrorOptions = {}) {
    const { systemCode, cause, hasResponse = false, isNewConnection = false, isUnsent = false } = options
    super(code, code, { cause })
    this.systemCode = systemCode
    this.hasResponse = hasResponse
    this.isNewConnection = isNewConnection
    this.isUnsent = isUnsent || code === 'refused'
  }

  /** Whether the peer closed the connection without a response. The peer may or may not have seen the request. */
  get isReset(): boolean {
    return !this.hasResponse && this.systemCode !== undefined && resets.has(this.systemCode)
  }

  /** False only if the request certainly did not reach the server. */
  get mayHaveArrived(): boolean {
    return !this.isUnsent || this.wasSentBefore
  }

  /** Whether the server had closed the kept connection, so that a new one may work immediately. */
  get isStale(): boolean {
    return this.isReset && !this.isNewConnection && !this.isUnsent
  }

  /**
   * Creates the error for a system error code. The system reports some codes, such as that of a missing route, for open
   * connections too: only while connecting do they mean that nothing was sent.
   */
  static ofSystem(
    systemCode: string | undefined,
    { isConnecting, ...options }: TransportErrorOptions & { readonly isConnecting: boolean },
  ): TransportError {
    const isRefused = isConnecting && systemCode !== undefined && refusals.has(systemCode)
    return new TransportError(isRefused ? 'refused' : 'broken', { ...options, systemCode })
  }
}

/** The longest time of a timer. A longer one would fire immediately. */
const maxTimerMs = 2 ** 31 - 1

/** Returns the time for a timer. */
export function timerMs(limitMs: number): number {
  return Math.min(limitMs, maxTimerMs)
}

const refusals = new Set([
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'],
  // A Unix socket that does not exist or that this user may not access.
  ...['ENOENT', 'EACCES'],
  'UND_ERR_CONNECT_TIMEOUT',
])
const resets = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

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
