import type { IncomingMessage, ServerResponse } from 'node:http'
import { knownMethod } from './RequestHead.js'
import * as RequestId from './RequestId.js'

/** The record of a finished request: enough for a log line, without secrets. */

/** A finished request. */
export type RequestRecord = {
  /** The `X-Request-Id` of the response. */
  readonly id: string
  /** One of the usual methods, or `OTHER`. */
  readonly method: string
  /** The pattern of the path, such as `/v2/accounts/{address}`, or {@link noRoute} for a path that is not served. */
  readonly route: string
  /** The status of the response; 0 if there is none. */
  readonly status: number
  readonly durationMs: number
  /** The size of the response body; with `recordRequests`, of the whole response. */
  readonly bytes: number
  /** Whether the whole response was passed to the connection. False if the peer left before. */
  readonly isComplete: boolean
  /** The id of the payment of the request, if the handler set it. */
  readonly payment?: string | undefined
}

/** The route of a request without one. The path itself may contain anything, including secrets, and is not recorded. */
export const noRoute = '-'

/** Collects the record of the current request of a connection. */
export class RecordBuilder {
  readonly #onRequest: ((record: RequestRecord) => void) | undefined
  /** The id of the request in progress; undefined if nothing is recorded. */
  id: string | undefined
  #method = ''
  #startedAt = 0
  route = noRoute
  payment: string | undefined

  constructor(onRequest: ((record: RequestRecord) => void) | undefined) {
    this.#onRequest = onRequest
  }

  /** Starts the record of a request, with the id that its client sent. */
  start(method: string, sentId: string | undefined, now: number): void {
    if (this.#onRequest === undefined) return
    this.id = RequestId.choose(sentId)
    this.#method = knownMethod(method)
    this.#startedAt = now
    this.route = noRoute
    this.payment = undefined
  }

  /** Reports the request once, at its end. */
  finish(status: number, bytes: number, isComplete = true, now = performance.now()): void {
    const { id, route, payment } = this
    if (id === undefined) return
    this.id = undefined
    const durationMs = now - this.#startedAt
    this.#onRequest?.({ id, method: this.#method, route, status, durationMs, bytes, isComplete, payment })
  }
}

/** Options of {@link recordRequests}. */
export type RecordRequestsOptions = {
  /** Called with each finished request. It must not throw. */
  onRequest: (record: RequestRecord) => void
  /**
   * Returns the route pattern of a path without its query, or undefined if there is none. Never return the path itself,
   * because it may contain a secret.
   */
  routeOf: (path: string, method: string) => string | undefined
  /**
   * Returns the id of the payment of a request, at its end.
   *
   * @default none is recorded
   * @example (request) => paymentOf(request)?.transactionId
   */
  paymentOf?: ((request: IncomingMessage) => string | undefined) | undefined
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Wraps a listener for `node:http` or Express: gives every response an `X-Request-Id` and reports each finished
 * request.
 *
 * @example
 * ```ts
 * const routeOf = (path: string) => (path === '/weather' ? path : undefined)
 * createServer(recordRequests(listener, { routeOf, onRequest: (record) => console.log(JSON.stringify(record)) }))
 * ```
 */
export function recordRequests(listener: Listener, options: RecordRequestsOptions): Listener {
  const { onRequest, routeOf, paymentOf } = options
  return (request, response) => {
    const startedAt = performance.now()
    const sent = request.headers[RequestId.lowerCaseName]
    const id = RequestId.choose(typeof sent === 'string' ? sent : undefined)
    const [path = ''] = (request.url ?? '').split('?', 1)
    const method = knownMethod(request.method ?? '')
    const written = request.socket.bytesWritten
    response.setHeader(RequestId.headerName, id)
    // The handler sees the same id and can forward it.
    request.headers[RequestId.lowerCaseName] = id
    response.once('close', () => {
      const bytes = Math.max(0, request.socket.bytesWritten - written)
      onRequest({
        ...{
          id,
          method,
          route: routeOf(path, method) ?? noRoute,
          status: response.headersSent ? response.statusCode : 0,
        },
        ...{ durationMs: performance.now() - startedAt, bytes, isComplete: response.writableFinished },
        payment: paymentOf?.(request),
      })
    })
    listener(request, response)
  }
}
