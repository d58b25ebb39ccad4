/**
 * The socket side. This is HTTP/1.1 on plain sockets rather than `node:http`, whose streams cost more time a request
 * than everything else a daemon does for it together; `bench/` shows what that is worth.
 */
import { type AddressInfo, createServer, type Server as NetServer } from 'node:net'
import { Connection } from './Connection.js'
import { defaultLimits, type Limits } from './Limits.js'
import type { RawHandler, RawResponse } from './Message.js'

export type ServerOptions = {
  handle: RawHandler
  /** Answers what was never a request: 400, 408 and 431. */
  refuse?: (status: number, message: string) => RawResponse
  limits?: Partial<Limits> | undefined
}

const checkEveryMs = 250

export class Server {
  readonly #limits: Limits
  readonly #net: NetServer
  readonly #connections = new Set<Connection>()
  readonly #timer: NodeJS.Timeout
  #stopping = false

  constructor({ handle, refuse = refuseWithMessage, limits }: ServerOptions) {
    this.#limits = { ...defaultLimits, ...limits }
    this.#net = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      const isStopping = (): boolean => this.#stopping
      const connection = new Connection({ socket, limits: this.#limits, handle, refuse, isStopping })
      this.#connections.add(connection)
      socket.on('close', () => this.#connections.delete(connection))
    })
    this.#net.maxConnections = this.#limits.connections
    this.#timer = setInterval(() => this.#checkTimes(), checkEveryMs).unref()
  }

  /** Binds, and answers with the address that was bound. */
  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#net.once('error', reject)
      this.#net.listen(port, host, () => {
        this.#net.off('error', reject)
        resolve(this.#net.address() as AddressInfo)
      })
    })
  }

  /** Lets requests under way finish, for a while; idle connections are closed at once. */
  async stop(): Promise<void> {
    this.#stopping = true
    const closed = new Promise<void>((resolve) => this.#net.close(() => resolve()))
    for (const connection of this.#connections) connection.stop()
    const giveUp = setTimeout(() => {
      for (const connection of this.#connections) connection.destroy()
    }, this.#limits.stopMs)
    await closed
    clearTimeout(giveUp)
    clearInterval(this.#timer)
  }

  #checkTimes(): void {
    const now = performance.now()
    for (const connection of this.#connections) connection.checkTime(now)
  }
}

function refuseWithMessage(status: number, message: string): RawResponse {
  return { status, headers: ['Content-Type', 'application/json'], body: `${JSON.stringify({ message })}\n` }
}
