/**
 * A transport on sockets that are kept open: a facilitator makes three requests for each payment, and Node's `fetch`
 * costs several times as much as the exchange.
 */

import { Exchange, requestHead } from './Connection.js'
import { ConnectionPool } from './ConnectionPool.js'
import { CollectedBody, createFetchTransport } from './fetch.js'
import { type ResponseHead, valuesOf } from './ResponseReader.js'
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
    send: (request) => (byFetch === undefined || usesPlainFetch() ? send(pool, request) : byFetch.send(request)),
    close: () => pool.close(),
    hasUnixSockets: true,
  }
}

async function send(pool: ConnectionPool, request: TransportRequest): Promise<TransportResponse> {
  const { timeoutMs, needsNewConnection = false, repeatsStale = false } = request
  const endMs = performance.now() + timeoutMs
  try {
    return await exchange(pool, request, !needsNewConnection, timeoutMs)
  } catch (error) {
    if (!repeatsStale || !(error instanceof TransportError) || !error.isStale) throw error
  }
  try {
    return await exchange(pool, request, false, endMs - performance.now())
  } catch (error) {
    if (error instanceof TransportError) error.wasSentBefore = true
    throw error
  }
}

function exchange(
  pool: ConnectionPool,
  request: TransportRequest,
  isKept: boolean,
  limitMs: number,
): Promise<TransportResponse> {
  request.signal?.throwIfAborted()
  const collected = new CollectedExchange(request, isKept, limitMs)
  pool.start(collected)
  request.onStart?.(() => collected.fail(new TransportError('broken')))
  return collected.result
}

/** An exchange whose response is collected within the limits of its request. */
class CollectedExchange extends Exchange<TransportResponse> {
  readonly #body: CollectedBody
  #head: ResponseHead | undefined

  constructor(request: TransportRequest, isKept: boolean, limitMs: number) {
    const { server, method, path, body, signal } = request
    const headers = Object.entries(request.headers)
    if (body !== undefined) headers.push(['Content-Length', String(body.length)])
    const head = requestHead({ method, path, authority: server.authority, isKept }, headers)
    super({ server, method, head, body, isKept }, signal, limitMs)
    this.#body = new CollectedBody(request.maxResponseBytes)
  }

  onHead(head: ResponseHead): void {
    this.#head = head
  }

  onData(piece: Buffer): void {
    if (!this.isOver && !this.#body.add(piece)) this.fail(new TransportError('too_large'))
  }

  protected onEnd(): void {
    const { status, headers } = this.#head!
    this.resolve(
      this.#body.toResponse(status, (name) => {
        const values = valuesOf(headers, name)
        return values.length === 0 ? undefined : values.join(', ')
      }),
    )
  }

  protected onError(error: unknown): void {
    this.#body.wipe()
    this.reject(error)
  }

  protected onLate(): void {
    this.fail(new TransportError('timeout', { isUnsent: this.connection?.isUnsent ?? true }))
  }
}
