/**
 * Connections of `undici`, an optional peer dependency: an exchange takes half the processor time of one by `node:http`.
 * `fetch` stays as it is, also where it is replaced or given a dispatcher.
 */
import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher, Pool } from 'undici'
import { StaleConnectionError, TransportError, type TransportRequest, type TransportResponse } from './Transport.js'

type Undici = { readonly Pool: typeof Pool; readonly buildConnector: typeof buildConnector }

/** An idle connection is kept for as long, unless the server announces less: undici keeps to that, with a margin. */
const idleMs = 30_000

/** Sends requests on pools of connections, one for each server. */
export class Pools {
  readonly #undici: Undici
  readonly #connections: number
  readonly #byOrigin = new Map<string, Pool>()

  /**
   * Undefined if undici is not installed, or one that works in another way: many packages bring some version of it. It takes
   * 100 ms to load: as long as some hundred exchanges.
   */
  static async load(connections: number): Promise<Pools | undefined> {
    // Has Node set up its own fetch first: otherwise undici would take it over when it is loaded.
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

  /** Requests that run end first. */
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
        // Each exchange has one limit for all of it.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      this.#byOrigin.set(origin, pool)
    }
    return pool
  }
}

/** Versions call different methods of a handler. A pool that is destroyed calls one of them at once, without a connection. */
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

/** Errors of connections that have served a request before. */
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

/** One exchange as undici reports it, until its first end. */
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
    // It has waited for a connection until its time was up.
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
