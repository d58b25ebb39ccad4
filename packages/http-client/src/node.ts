/**
 * A transport on sockets that are kept open: a facilitator makes three requests for each payment, and Node's `fetch`
 * costs several times as much as the exchange.
 */

import { ConnectionPool } from './ConnectionPool.js'
import { type Exchange, type ExchangeConnection, RequestHead } from './Exchange.js'
import { createFetchTransport } from './fetch.js'
import type { ResponseHead } from './ResponseReader.js'
import type { Server } from './Server.js'
import {
  type Transport,
  TransportError,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
} from './Transport.js'
import { usesPlainFetch } from './usesPlainFetch.js'

/** The default if the server announces no time. Many load balancers close connections that are idle for a minute. */
const idleMs = 30_000
const maxIdle = 16
const defaultMaxConnections = 64

/** Sends requests on kept connections. */
export function createTransport(options: TransportOptions = {}): Transport {
  const { maxConnections = defaultMaxConnections, followsFetch = false, approve } = options
  const byFetch = followsFetch ? createFetchTransport((url, init) => globalThis.fetch(url, init)) : undefined
  const pool = new ConnectionPool({ maxConnections, maxIdle, idleMs, approve })
  return {
    send: (request) => {
      if (byFetch !== undefined && !usesPlainFetch()) return byFetch.send(request)
      const sent = exchange(pool, request, request.needsNewConnection !== true)
      return request.repeatsStale === true ? repeating(pool, request, sent) : sent
    },
    close: () => pool.close(),
    hasUnixSockets: true,
  }
}

async function repeating(
  pool: ConnectionPool,
  request: TransportRequest,
  sent: Promise<TransportResponse>,
): Promise<TransportResponse> {
  try {
    return await sent
  } catch (error) {
    if (!(error instanceof TransportError) || !error.isStale) throw error
    return exchange(pool, request, false).catch((second: unknown) => {
      if (second instanceof TransportError) second.wasSentBefore = true
      throw second
    })
  }
}

function exchange(pool: ConnectionPool, request: TransportRequest, isKept: boolean): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    request.signal?.throwIfAborted()
    const collected = new CollectedExchange(request, isKept, resolve, reject)
    pool.start(collected)
    request.onStart?.(() => collected.cancel(new TransportError('broken')))
  })
}

/** An exchange whose response is collected within the limits of its request. */
class CollectedExchange implements Exchange {
  readonly server: Server
  readonly method: string
  readonly head: string
  readonly body: Uint8Array | undefined
  readonly isKept: boolean
  readonly silenceMs = undefined
  isOver = false
  connection: ExchangeConnection | undefined
  readonly #request: TransportRequest
  readonly #resolve: (response: TransportResponse) => void
  readonly #reject: (error: unknown) => void
  readonly #timer: ReturnType<typeof setTimeout>
  readonly #onAbort: (() => void) | undefined
  #response: ResponseHead | undefined
  #pieces: Buffer[] | undefined
  #whole: Buffer | undefined
  #length = 0

  constructor(
    request: TransportRequest,
    isKept: boolean,
    resolve: (response: TransportResponse) => void,
    reject: (error: unknown) => void,
  ) {
    const { server, method, path, headers, body, signal } = request
    const head = new RequestHead(method, path, server.authority)
    for (const name in headers) head.add(name, headers[name]!)
    if (body !== undefined) head.add('Content-Length', String(body.length))
    this.head = head.end(isKept)
    this.server = server
    this.method = method
    this.body = body
    this.isKept = isKept
    this.#request = request
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = setTimeout(() => this.#late(), request.timeoutMs)
    if (signal !== undefined) {
      this.#onAbort = () => this.cancel(signal.reason)
      signal.addEventListener('abort', this.#onAbort, { once: true })
    }
  }

  /** Fails with the error, and closes the connection. */
  cancel(error: unknown): void {
    if (!this.#settle()) return
    this.connection?.destroy()
    this.#reject(error)
  }

  onHead(head: ResponseHead): void {
    this.#response = head
  }

  /** Copies and wipes the piece, because it may hold a key. */
  onData(piece: Buffer): void {
    this.#length += piece.length
    if (this.#length > this.#request.maxResponseBytes) {
      this.cancel(new TransportError('too_large'))
      return
    }
    const copy = Buffer.allocUnsafeSlow(piece.length)
    copy.set(piece)
    piece.fill(0)
    if (this.#whole === undefined) this.#whole = copy
    else if (this.#pieces === undefined) this.#pieces = [this.#whole, copy]
    else this.#pieces.push(copy)
  }

  onEnd(): void {
    if (this.#settle()) this.#resolve(new CollectedResponse(this.#response!, this.#collect()))
  }

  onError(error: Error): void {
    if (this.#settle()) this.#reject(error)
  }

  #collect(): Buffer {
    const pieces = this.#pieces
    if (pieces === undefined) return this.#whole ?? Buffer.alloc(0)
    const whole = Buffer.concat(pieces)
    for (const piece of pieces) piece.fill(0)
    return whole
  }

  #late(): void {
    this.cancel(new TransportError('timeout', { isUnsent: this.connection?.isUnsent ?? true }))
  }

  /** Returns false if the exchange is over already. */
  #settle(): boolean {
    if (this.isOver) return false
    this.isOver = true
    clearTimeout(this.#timer)
    if (this.#onAbort !== undefined) this.#request.signal?.removeEventListener('abort', this.#onAbort)
    return true
  }
}

class CollectedResponse implements TransportResponse {
  readonly status: number
  readonly body: Buffer
  readonly #headers: readonly string[]

  constructor({ status, headers }: ResponseHead, body: Buffer) {
    this.status = status
    this.body = body
    this.#headers = headers
  }

  header(name: string): string | undefined {
    const values: string[] = []
    for (let at = 0; at < this.#headers.length; at += 2) {
      const own = this.#headers[at]!
      if (own.length === name.length && own.toLowerCase() === name) values.push(this.#headers[at + 1]!)
    }
    return values.length === 0 ? undefined : values.join(', ')
  }

  text(): string {
    return this.body.toString('utf8')
  }
}
