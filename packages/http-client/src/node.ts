/**
 * A transport on sockets that are kept open: a facilitator makes three requests for each payment, and Node's `fetch`
 * costs several times as much as the exchange.
 */

import { BoundedMap } from '@latchkey/algorand'
import { Connection, type ConnectionOptions, Exchange, requestHead } from './Connection.js'
import { createFetchTransport } from './fetch.js'
import { type ResponseHead, valuesOf } from './ResponseReader.js'
import { keyOf } from './Server.js'
import {
  CollectedBody,
  type Transport,
  TransportError,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
  usesPlainFetch,
} from './Transport.js'

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

/** Options of {@link ConnectionPool}. */
export type PoolOptions = {
  /** The maximum number of connections to one server. Further exchanges wait. */
  readonly maxConnections: number
  /** The maximum number of idle connections to one server. */
  readonly maxIdle: number
  /** How long an idle connection is kept, or less if the server announces less. */
  readonly idleMs: number
  readonly connectMs?: number | undefined
  readonly approve?: ConnectionOptions['approve']
}

/** The connections to one server. */
type Group = {
  readonly key: string
  /** The connection that was used last is used next, so that the others can expire. */
  readonly idle: Connection[]
  readonly open: Set<Connection>
  readonly waiting: Exchange[]
}

/** A request takes time to arrive, and the server's timer starts before the client's. */
const marginMs = 1_000
const maxSessions = 100
const sweepMs = 1_000

/** The kept connections of one sender, to any number of servers. */
export class ConnectionPool {
  readonly #options: PoolOptions
  /** The servers with open connections. */
  readonly #groups = new Map<string, Group>()
  readonly #sessions = new BoundedMap<string, Buffer>(maxSessions)
  #sweeper: NodeJS.Timeout | undefined

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Sends a request on an idle connection or a new one, or when a connection is free. */
  start(exchange: Exchange): void {
    const { server, isKept } = exchange.request
    const key = keyOf(server)
    const group = this.#groups.get(key) ?? { key, idle: [], open: new Set(), waiting: [] }
    const kept = isKept ? this.#take(group) : undefined
    if (kept !== undefined) kept.send(exchange)
    else if (group.open.size < this.#options.maxConnections) this.#open(exchange, group)
    else {
      group.waiting.push(exchange)
      // An idle connection that the exchange may not use makes room for its own.
      group.idle[0]?.destroy()
    }
  }

  /** Closes idle connections immediately, and the others after their response. */
  close(): void {
    for (const { open } of [...this.#groups.values()]) {
      for (const connection of [...open]) {
        connection.isLast = true
        if (connection.isIdle) connection.destroy()
      }
    }
  }

  /** Closes idle connections that may no longer be used. */
  closeExpired(now = performance.now()): void {
    for (const { idle } of [...this.#groups.values()]) {
      for (const connection of [...idle]) if (connection.usableUntil <= now) connection.destroy()
    }
  }

  /** The number of idle connections. */
  get idleCount(): number {
    let count = 0
    for (const { idle } of this.#groups.values()) count += idle.length
    return count
  }

  /** Checks the time here too, because timers are late if the process was busy. */
  #take({ idle }: Group): Connection | undefined {
    const now = performance.now()
    for (let last = idle.at(-1); last !== undefined; last = idle.at(-1)) {
      if (last.usableUntil > now && last.isIdle) return idle.pop()
      last.destroy()
    }
    return undefined
  }

  #open(exchange: Exchange, group: Group): void {
    const { server } = exchange.request
    const { connectMs, approve } = this.#options
    const connection = new Connection(
      {
        server,
        connectMs,
        approve,
        session: this.#sessions.get(group.key),
        onSession: (session) => void this.#sessions.set(group.key, session),
        onIdle: (one) => this.#keep(one, group),
        onClose: (one) => this.#closed(one, group),
      },
      exchange,
    )
    group.open.add(connection)
    // The group is gone if all of its connections had expired.
    this.#groups.set(group.key, group)
  }

  /** Gives the connection to a waiting exchange, or keeps it. */
  #keep(connection: Connection, group: Group): void {
    const { idleMs, maxIdle } = this.#options
    const { announcedMs = Number.POSITIVE_INFINITY, isLast } = connection
    const keptMs = Math.min(idleMs, announcedMs - Math.min(marginMs, announcedMs / 2))
    const next = nextOf(group)
    if (keptMs <= 0 || isLast || next?.request.isKept === false) connection.destroy()
    else if (next !== undefined) {
      group.waiting.shift()
      connection.send(next)
    } else if (group.idle.length >= maxIdle) connection.destroy()
    else {
      connection.usableUntil = performance.now() + keptMs
      connection.unref()
      group.idle.push(connection)
      this.#sweepLater()
    }
  }

  #closed(connection: Connection, group: Group): void {
    const at = group.idle.indexOf(connection)
    if (at >= 0) group.idle.splice(at, 1)
    group.open.delete(connection)
    const next = nextOf(group)
    if (next !== undefined) {
      group.waiting.shift()
      this.#open(next, group)
    } else if (group.open.size === 0) this.#groups.delete(group.key)
  }

  /** One timer for all connections, because one for each would be set again with every request. */
  #sweepLater(): void {
    if (this.#sweeper !== undefined) return
    const sweep = (): void => {
      this.#sweeper = undefined
      this.closeExpired()
      if (this.idleCount > 0) this.#sweepLater()
    }
    this.#sweeper = setTimeout(sweep, sweepMs)
    this.#sweeper.unref()
  }
}

/** The exchange that has waited longest. Drops those that were cancelled meanwhile. */
function nextOf({ waiting }: Group): Exchange | undefined {
  while (waiting[0]?.isOver === true) waiting.shift()
  return waiting[0]
}
