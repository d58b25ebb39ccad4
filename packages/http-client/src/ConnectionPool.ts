/** Keeps connections to servers, and uses them only while the server certainly keeps them open. */
import { BoundedMap } from '@latchkey/algorand'
import { Connection, type ConnectionOptions } from './Connection.js'
import type { Exchange } from './Exchange.js'
import { keyOf, type Server } from './Server.js'

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

/** The kept connections of one sender, to any number of servers. */
export class ConnectionPool {
  readonly #options: PoolOptions
  readonly #groups = new Map<string, Group>()
  readonly #keys = new WeakMap<Server, string>()
  /** The connections in use at `close`, which end with their response. */
  readonly #ending = new WeakSet<Connection>()
  readonly #sessions = new BoundedMap<string, Buffer>(maxSessions)
  #sweeper: ReturnType<typeof setTimeout> | undefined

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Sends a request on an idle connection or a new one, or when a connection is free. */
  start(exchange: Exchange): void {
    if (!exchange.isKept) {
      this.#open(exchange)
      return
    }
    const group = this.#groupOf(exchange.server)
    const kept = this.#take(group)
    if (kept !== undefined) kept.send(exchange)
    else if (group.open.size < this.#options.maxConnections) this.#open(exchange, group)
    else group.waiting.push(exchange)
  }

  /** Closes idle connections immediately, and the others after their response. */
  close(): void {
    for (const { open } of this.#groups.values()) {
      for (const connection of [...open]) {
        if (connection.isIdle) connection.destroy()
        else this.#ending.add(connection)
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

  #groupOf(server: Server): Group {
    let key = this.#keys.get(server)
    if (key === undefined) {
      key = keyOf(server)
      this.#keys.set(server, key)
    }
    let group = this.#groups.get(key)
    if (group === undefined) {
      group = { key, idle: [], open: new Set(), waiting: [] }
      this.#groups.set(key, group)
    }
    return group
  }

  /** Checks the time here too, because timers are late if the process was busy. */
  #take({ idle }: Group): Connection | undefined {
    const now = performance.now()
    for (let last = idle.at(-1); last !== undefined; last = idle.at(-1)) {
      if (last.usableUntil > now) {
        idle.pop()
        return last
      }
      last.destroy()
    }
    return undefined
  }

  #open(exchange: Exchange, group?: Group): void {
    const { server } = exchange
    const { connectMs, approve } = this.#options
    const key = server.isSecure ? keyOf(server) : ''
    const connection = new Connection(
      {
        ...{ server, connectMs, approve },
        session: server.isSecure ? this.#sessions.get(key) : undefined,
        onSession: (session) => void this.#sessions.set(key, session),
        onIdle: (one) => this.#keep(one, group!),
        onClose: (one) => group !== undefined && this.#closed(one, group),
      },
      exchange,
    )
    group?.open.add(connection)
  }

  /** Gives the connection to a waiting exchange, or keeps it. */
  #keep(connection: Connection, group: Group): void {
    const { idleMs, maxIdle } = this.#options
    const { announcedMs } = connection
    const keptMs =
      announcedMs === undefined ? idleMs : Math.min(idleMs, announcedMs - Math.min(marginMs, announcedMs / 2))
    if (keptMs <= 0 || this.#ending.has(connection)) {
      connection.destroy()
      return
    }
    const next = takeWaiting(group)
    if (next !== undefined) {
      connection.send(next)
      return
    }
    if (group.idle.length >= maxIdle) {
      connection.destroy()
      return
    }
    connection.usableUntil = performance.now() + keptMs
    connection.unref()
    group.idle.push(connection)
    this.#sweepIn(keptMs)
  }

  #closed(connection: Connection, group: Group): void {
    const at = group.idle.indexOf(connection)
    if (at >= 0) group.idle.splice(at, 1)
    group.open.delete(connection)
    const next = takeWaiting(group)
    if (next !== undefined) this.#open(next, group)
    else if (group.open.size === 0) this.#groups.delete(group.key)
  }

  /** One timer for all connections, because one for each would be set again with every request. */
  #sweepIn(ms: number): void {
    if (this.#sweeper !== undefined) return
    const sweep = (): void => {
      this.#sweeper = undefined
      const now = performance.now()
      this.closeExpired(now)
      let next = Number.POSITIVE_INFINITY
      for (const { idle } of this.#groups.values()) {
        for (const { usableUntil } of idle) next = Math.min(next, usableUntil - now)
      }
      if (next < Number.POSITIVE_INFINITY) this.#sweepIn(next)
    }
    this.#sweeper = setTimeout(sweep, Math.ceil(ms))
    this.#sweeper.unref()
  }
}

/** Skips the exchanges that were cancelled while they waited. */
function takeWaiting({ waiting }: Group): Exchange | undefined {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) if (!next.isOver) return next
  return undefined
}
