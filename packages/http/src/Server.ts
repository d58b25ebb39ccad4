/**
 * The socket side: HTTP/1.1 on plain sockets instead of `node:http`, whose streams cost more time per request than
 * everything else a daemon does for it; `bench/` has the figures.
 */
import { type AddressInfo, createServer, type Server as NetServer } from 'node:net'
import { Connection } from './Connection.js'
import { ConnectionPool } from './ConnectionPool.js'
import { fromFetch, jsonError } from './Fetch.js'
import { defaultLimits, type Limits } from './Limits.js'
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
    this.#net = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      if (!this.#connections.makeRoom()) {
        socket.destroy()
        return
      }
      const isStopping = (): boolean => this.#stopping
      const connection = new Connection({
        ...{ socket, limits: this.#limits, handle, errorResponse, onError, onRequest, isStopping, defer: this.#defer },
        holders: this.#connections,
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
