/**
 * The socket side: HTTP/1.1 on plain sockets instead of `node:http`, whose streams cost more time per request than
 * everything else a daemon does for it; `bench/` has the figures.
 */
import { type AddressInfo, createServer, type Server as NetServer } from 'node:net'
import { BodyBudget } from './BodyBudget.js'
import { Connection } from './Connection.js'
import { fromFetch, jsonError } from './Fetch.js'
import { defaultLimits, type Limits, type PooledConnection } from './Limits.js'
import type { FetchHandler, RawHandler, RawResponse } from './Message.js'
import type { RequestRecord } from './RequestRecord.js'

/** Options of {@link Server}: a handler in either form, and how to serve it. */
export type ServerOptions = ({ fetch: FetchHandler } | { handle: RawHandler }) & {
  /**
   * Creates the responses that do not come from the handler: 400, 408 and 431, and, for a fetch handler, 413 and 500.
   * @default a JSON object with a `message`
   */
  errorResponse?: (status: number, message: string) => RawResponse
  /**
   * Called with the errors of the handler. If a fetch handler throws, the response is 500; if a raw one throws, its
   * connection is closed.
   * @default `console.error`
   */
  onError?: (error: unknown) => void
  /**
   * Called with each finished request, for a log. If it is set, every response has an `X-Request-Id`: that of the
   * request if it is short and plain, and otherwise a new one. It must not throw.
   * @default none
   */
  onRequest?: ((record: RequestRecord) => void) | undefined
  /** @default {@link defaultLimits} */
  limits?: Partial<Limits> | undefined
}

const checkEveryMs = 250
/** How many requests that were sent ahead without the owner's token are served before the sockets are polled again. */
const deferredPerTurn = 32
/**
 * A strict HTTP/1.1 server for a fetch handler or a raw handler.
 *
 * @example
 * ```ts
 * const server = new Server({ fetch: (request) => new Response(`hello ${new URL(request.url).pathname}`) })
 * const { port } = await server.listen('127.0.0.1', 0)
 * await server.stop()
 * ```
 */
export class Server {
  readonly #limits: Limits
  readonly #net: NetServer
  readonly #connections: ConnectionPool<Connection>
  readonly #bodies: BodyBudget
  readonly #timer: NodeJS.Timeout
  #stopping = false
  readonly #deferred: (() => void)[] = []
  readonly #defer = (run: () => void): void => {
    if (this.#deferred.push(run) === 1) setImmediate(() => this.#runDeferred())
  }

  constructor(options: ServerOptions) {
    const { errorResponse = jsonError, onError = console.error, onRequest } = options
    const handle = 'fetch' in options ? fromFetch(options.fetch, { errorResponse, onError }) : options.handle
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#connections = new ConnectionPool(this.#limits.connections)
    this.#bodies = new BodyBudget(this.#limits)
    this.#net = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      if (!this.#connections.makeRoom()) {
        socket.destroy()
        return
      }
      const isStopping = (): boolean => this.#stopping
      const connection = new Connection({
        ...{ socket, limits: this.#limits, handle, errorResponse, onError, onRequest, isStopping, defer: this.#defer },
        holders: this.#connections,
        bodies: this.#bodies,
      })
      this.#connections.add(connection)
      socket.on('close', () => this.#connections.delete(connection))
    })
    // Runs after the sockets were read, because input that arrived while the process was busy is not late.
    this.#timer = setInterval(() => setImmediate(() => this.#checkTimes()), checkEveryMs).unref()
  }

  /** Starts to listen and returns the bound address. Port 0 selects a free port. */
  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#net.once('error', reject)
      this.#net.listen(port, host, () => {
        this.#net.off('error', reject)
        resolve(this.#net.address() as AddressInfo)
      })
    })
  }

  /**
   * Starts to listen on a Unix socket. The directory controls who may connect: the socket itself is open to everyone
   * until its mode is set.
   */
  listenUnix(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#net.once('error', reject)
      this.#net.listen({ path }, () => {
        this.#net.off('error', reject)
        resolve()
      })
    })
  }

  /**
   * Continues serving, but closes every connection after its next response, so that keep-alive clients reconnect
   * elsewhere. Call it some time before `stop`.
   */
  drain(): void {
    this.#stopping = true
  }

  /**
   * Accepts no more connections, closes idle ones immediately, and the others after their response or on timeout.
   *
   * @default stopMs limits.stopMs
   */
  async stop(stopMs = this.#limits.stopMs): Promise<void> {
    this.#stopping = true
    const closed = new Promise<void>((resolve) => this.#net.close(() => resolve()))
    for (const connection of this.#connections) connection.stop()
    const giveUp = setTimeout(() => {
      for (const connection of this.#connections) connection.destroy()
    }, stopMs)
    await closed
    clearTimeout(giveUp)
    clearInterval(this.#timer)
  }

  /** A thousand peers that each send a thousand requests ahead must not make the next one wait for all of them. */
  #runDeferred(): void {
    const turn = this.#deferred.splice(0, deferredPerTurn)
    if (this.#deferred.length > 0) setImmediate(() => this.#runDeferred())
    for (const run of turn) run()
  }

  #checkTimes(): void {
    const now = performance.now()
    for (const connection of this.#connections) connection.checkTime(now)
  }
}

/** One in this many connections is reserved for peers that have not shown a token yet. */
const newcomersShare = 8
/** All named holders together may have one in this many connections. */
const holdersShare = 2
/** A single named holder may have one in this many connections. */
const holderShare = 4

/** The owner of the server, or the connections of a named holder. */
type Holder<C> = 'owner' | Set<C>

function earlier<C extends PooledConnection>(found: C | undefined, other: C): C {
  return found === undefined || other.usedAt < found.usedAt ? other : found
}

/**
 * The open connections of a server: their holders, how many connections each token holder may have, and which
 * connection is closed to make room. The holder is only known once the first request is read, so a part of the capacity
 * is reserved for peers that have not shown a token yet. Named holders never take all of the rest, so the owner always
 * gets an answer.
 */
class ConnectionPool<C extends PooledConnection> {
  readonly #most: number
  /** Every open connection, and its holder once known. */
  readonly #connections = new Map<C, Holder<C> | undefined>()
  readonly #holders = new Map<string, Set<C>>()
  #heldCount = 0
  #ownersCount = 0

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#connections.size
  }

  [Symbol.iterator](): IterableIterator<C> {
    return this.#connections.keys()
  }

  add(connection: C): void {
    this.#connections.set(connection, undefined)
  }

  delete(connection: C): void {
    this.withdraw(connection)
    this.#connections.delete(connection)
  }

  /** Whether there is room for a connection. Closes another one if necessary. */
  makeRoom(): boolean {
    return this.#connections.size < this.#most || this.#close(this.#leastUseful())
  }

  /**
   * Records whose token the connection has shown. Beyond the limit of its holder, another connection of that holder is
   * closed; beyond the limit of all holders, one of the holder with the most connections.
   *
   * @returns false if the limit is reached and every connection is in use.
   */
  admit(connection: C, name: string | undefined): boolean {
    const holder = this.#connections.get(connection)
    if (name === undefined ? holder === 'owner' : holder !== undefined && holder === this.#holders.get(name))
      return true
    // The connection is already closed, so the response has no reader.
    if (!this.#connections.has(connection)) return true
    this.withdraw(connection)
    if (name === undefined) {
      this.#connections.set(connection, 'owner')
      this.#ownersCount++
      return true
    }
    const held = this.#holders.get(name) ?? new Set<C>()
    if (held.size >= this.#share(holderShare) && !this.#close(longestStalled(held))) return false
    if (this.#heldCount >= this.#share(holdersShare) && !this.#close(this.#leastUsefulHeld(held.size))) return false
    held.add(connection)
    this.#holders.set(name, held)
    this.#connections.set(connection, held)
    this.#heldCount++
    return true
  }

  /** The connection belongs to a peer without a valid token again. */
  withdraw(connection: C): void {
    const holder = this.#connections.get(connection)
    if (holder === undefined) return
    this.#connections.set(connection, undefined)
    if (holder === 'owner') {
      this.#ownersCount--
      return
    }
    this.#heldCount--
    holder.delete(connection)
    if (holder.size > 0) return
    for (const [name, held] of this.#holders) if (held === holder) this.#holders.delete(name)
  }

  #share(share: number): number {
    return Math.max(1, Math.floor(this.#most / share))
  }

  #close(connection: C | undefined): boolean {
    if (connection === undefined) return false
    this.delete(connection)
    connection.destroy()
    return true
  }

  /**
   * Selects the connection to close for a new one: first one without a valid token, so that a flood of those does not
   * shut out the others. New connections have no token yet. If these have less than their reserved share, holders make
   * room, then the owner's idle connections, and finally a running request of a holder.
   */
  #leastUseful(): C | undefined {
    const stranger = this.#leastUsed((connection, holder) => holder === undefined && connection.isStalled)
    const strangersCount = this.#connections.size - this.#heldCount - this.#ownersCount
    if (strangersCount >= this.#most / newcomersShare) return stranger
    return (
      this.#leastUsed((connection, holder) => isHeld(holder) && connection.isIdle) ??
      this.#leastUsed((connection, holder) => isHeld(holder) && connection.isStalled) ??
      this.#leastUsed((connection, holder) => holder === 'owner' && connection.isIdle) ??
      stranger ??
      this.#leastUsed((_, holder) => isHeld(holder))
    )
  }

  /** Selects among all holders. A running request is closed only for a holder that has less than its share. */
  #leastUsefulHeld(count: number): C | undefined {
    let largest: Set<C> | undefined
    for (const held of this.#holders.values()) if (held.size > (largest?.size ?? 0)) largest = held
    return (
      (largest && longestStalled(largest)) ??
      this.#leastUsed((connection, holder) => isHeld(holder) && connection.isStalled) ??
      (largest !== undefined && largest.size > count + 1 ? leastUsed(largest) : undefined)
    )
  }

  #leastUsed(matches: (connection: C, holder: Holder<C> | undefined) => boolean): C | undefined {
    let found: C | undefined
    for (const [connection, holder] of this.#connections) {
      if (matches(connection, holder)) found = earlier(found, connection)
    }
    return found
  }
}

function isHeld<C>(holder: Holder<C> | undefined): boolean {
  return holder !== undefined && holder !== 'owner'
}

function leastUsed<C extends PooledConnection>(connections: Iterable<C>): C | undefined {
  let found: C | undefined
  for (const connection of connections) found = earlier(found, connection)
  return found
}

/** Prefers an idle connection over one whose request is still arriving. */
function longestStalled<C extends PooledConnection>(connections: Iterable<C>): C | undefined {
  const all = [...connections]
  return leastUsed(all.filter(({ isIdle }) => isIdle)) ?? leastUsed(all.filter(({ isStalled }) => isStalled))
}
