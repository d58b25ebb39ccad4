/**
 * Connections of `undici`, an optional peer dependency: an exchange takes half the CPU time of one with `node:http`.
 * `fetch` is unaffected, even if it is replaced or given a dispatcher.
 */
import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher, Pool } from 'undici'
import { StaleConnectionError, TransportError, type TransportRequest, type TransportResponse } from './Transport.js'

type Undici = { readonly Pool: typeof Pool; readonly buildConnector: typeof buildConnector }

/** How long an idle connection is kept, unless the server announces less, which undici observes with a margin. */
const idleMs = 30_000

/** Sends requests on connection pools, one per server. */
export class Pools {
  readonly #undici: Undici
  readonly #connections: number
  readonly #byOrigin = new Map<string, Pool>()

  /**
   * Returns undefined if undici is not installed or incompatible: many packages bring some version of it. Loading
   * undici takes 100 ms, as long as several hundred exchanges.
   */
  static async load(connections: number): Promise<Pools | undefined> {
    // Makes Node set up its own fetch first. Otherwise undici would replace it on loading.
    if (globalThis.Headers === undefined) return undefined
    try {
      const undici = await import('undici')
      return isUsable(undici) ? new Pools(undici, connections) : undefined
    } catch {
      return undefined
    }
  }

  private constructor(undici: Undici, connections: number) {
    this.#undici = undici
    this.#connections = connections
  }

  /** Rejects with `TransportError`. */
  send(request: TransportRequest): Promise<TransportResponse> {
    return exchange(this.#poolOf(request.url.origin), request)
  }

  /** Running requests end first. */
  close(): void {
    const pools = [...this.#byOrigin.values()]
    this.#byOrigin.clear()
    for (const pool of pools) pool.close().catch(() => {})
  }

  #poolOf(origin: string): Pool {
    let pool = this.#byOrigin.get(origin)
    if (pool === undefined) {
      pool = new this.#undici.Pool(origin, {
        connections: this.#connections,
        pipelining: 1,
        connect: markingStale(this.#undici.buildConnector({})),
        keepAliveTimeout: idleMs,
        keepAliveMaxTimeout: idleMs,
        // Each exchange has one overall limit.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      this.#byOrigin.set(origin, pool)
    }
    return pool
  }
}

/**
 * Versions call different methods of a handler. A destroyed pool calls one of them immediately, without a connection.
 */
function isUsable({ Pool, buildConnector }: Undici): boolean {
  let isCalled = false
  const pool = new Pool('http://127.0.0.1')
  pool.destroy().catch(() => {})
  const onResponseError = (): void => {
    isCalled = true
  }
  pool.dispatch({ path: '/', method: 'GET' }, { onRequestStart() {}, onResponseError })
  return isCalled && typeof buildConnector === 'function'
}

/** Errors of connections that have already served a request. */
const staleErrors = new WeakSet<object>()

function markingStale(connect: buildConnector.connector): buildConnector.connector {
  return (options, done) =>
    connect(options, (...result) => {
      const socket = result[1] as Socket | null
      socket?.on('error', (error) => {
        if (socket.bytesRead > 0) staleErrors.add(error)
      })
      done(...result)
    })
}

/** One exchange as undici reports it, up to its first end. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #maxBytes: number
  readonly #resolve: (response: TransportResponse) => void
  readonly #reject: (error: TransportError) => void
  readonly #timer: ReturnType<typeof setTimeout>
  readonly #chunks: Buffer[] = []
  #controller: Dispatcher.DispatchController | undefined
  #failure: TransportError | undefined
  #status = 0
  #bytes = 0

  constructor(
    { timeoutMs, maxResponseBytes }: TransportRequest,
    resolve: (response: TransportResponse) => void,
    reject: (error: TransportError) => void,
  ) {
    this.#maxBytes = maxResponseBytes
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = setTimeout(() => this.fail(new TransportError('timeout')), timeoutMs)
  }

  fail(error: TransportError): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    clearTimeout(this.#timer)
    this.#reject(error)
    this.#controller?.abort(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The request has timed out while waiting for a connection.
    if (this.#failure !== undefined) controller.abort(this.#failure)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    this.#status = status
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) this.fail(new TransportError('too_large'))
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    clearTimeout(this.#timer)
    const chunks = this.#chunks
    const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8')
    this.#resolve({ status: this.#status, text })
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.fail(failureOf(error, this.#status !== 0))
  }
}

function exchange(pool: Pool, request: TransportRequest): Promise<TransportResponse> {
  const { path, method, headers, body, onStart } = request
  return new Promise((resolve, reject) => {
    const handler = new Exchange(request, resolve, reject)
    onStart?.(() => handler.fail(new TransportError('network')))
    pool.dispatch({ path, method, headers, body: body ?? null }, handler)
  })
}

type SocketFailure = Error & { readonly code?: string; readonly socket?: { readonly bytesRead?: number } | null }

function failureOf(error: SocketFailure, hasBegun: boolean): TransportError {
  const isClosed = error.code === 'UND_ERR_SOCKET'
  const options = { systemCode: isClosed ? 'ECONNRESET' : error.code, cause: error }
  const wasUsed = isClosed ? (error.socket?.bytesRead ?? 0) > 0 : staleErrors.has(error)
  const isReset = options.systemCode === 'ECONNRESET' || options.systemCode === 'EPIPE'
  return !hasBegun && wasUsed && isReset
    ? new StaleConnectionError('network', options)
    : new TransportError('network', options)
}
