/** The socket side: `node:http` with limits on everything that comes in, translating to and from `App`. */
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Request, Response } from '../App.js'
import { KmdError } from '../Errors.js'

export type ServerOptions = {
  handle: (request: Request) => Promise<Response>
  limits?: Partial<Limits>
}

export type Limits = {
  bodyBytes: number
  headerBytes: number
  headersMs: number
  requestMs: number
  idleMs: number
  connections: number
  /** How long requests under way may take after a stop was asked for. */
  stopMs: number
}

export const defaultLimits: Limits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 75_000,
  connections: 1024,
  stopMs: 10_000,
}

export class Server {
  readonly #handle: ServerOptions['handle']
  readonly #limits: Limits
  readonly #http: HttpServer
  #stopping = false

  constructor(options: ServerOptions) {
    this.#handle = options.handle
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#http = createServer(
      {
        maxHeaderSize: this.#limits.headerBytes,
        headersTimeout: this.#limits.headersMs,
        requestTimeout: this.#limits.requestMs,
        keepAliveTimeout: this.#limits.idleMs,
        connectionsCheckingInterval: Math.min(1_000, this.#limits.headersMs),
        // A missing Host is refused where every other wrong one is.
        requireHostHeader: false,
        noDelay: true,
      },
      (incoming, outgoing) => void this.#serve(incoming, outgoing),
    )
    this.#http.maxConnections = this.#limits.connections
    this.#http.on('clientError', refuseMalformed)
  }

  /** Binds, and answers with the address that was bound. */
  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#http.once('error', reject)
      this.#http.listen(port, host, () => {
        this.#http.off('error', reject)
        resolve(this.#http.address() as AddressInfo)
      })
    })
  }

  /** Lets requests under way finish, for a while; idle connections are closed at once. */
  async stop(): Promise<void> {
    this.#stopping = true
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()))
    this.#http.closeIdleConnections()
    const giveUp = setTimeout(() => this.#http.closeAllConnections(), this.#limits.stopMs)
    await closed
    clearTimeout(giveUp)
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { headers } = incoming
    try {
      const response = await this.#handle({
        method: incoming.method ?? '',
        target: incoming.url ?? '',
        header: (name) => headers[name] as string | undefined,
        localAddress: incoming.socket.localAddress,
        body: () => readBody(incoming, this.#limits.bodyBytes),
      })
      // What was not read is not waited for: the connection ends instead.
      const unread = !incoming.complete && response.status !== 200
      if (this.#stopping || unread) response.headers.push('Connection', 'close')
      response.headers.push('Content-Length', String(response.body.length))
      outgoing.writeHead(response.status, response.headers)
      outgoing.end(response.body)
    } catch {
      // The peer is gone, in the middle of its request or of our answer; there is nobody to tell.
      outgoing.destroy()
    }
  }
}

/** The body, or `bodyTooLarge` as soon as it is known to be; resets and half-sent bodies reject. */
function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(incoming.headers['content-length'] ?? 0) > limit) {
      reject(new KmdError('bodyTooLarge'))
      return
    }
    let only: Buffer | undefined
    let chunks: Buffer[] | undefined
    let length = 0
    incoming.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > limit) {
        incoming.pause()
        reject(new KmdError('bodyTooLarge'))
      } else if (only === undefined) only = chunk
      else {
        chunks ??= [only]
        chunks.push(chunk)
      }
    })
    incoming.on('end', () => {
      const body = chunks === undefined ? (only ?? Buffer.alloc(0)) : Buffer.concat(chunks)
      for (const chunk of chunks ?? []) chunk.fill(0)
      resolve(body)
    })
    incoming.on('error', reject)
    incoming.on('close', () => reject(new Error('the connection was closed before the body was complete')))
  })
}

/** Node refuses what is not HTTP, too long or too slow by itself; this gives its refusals our envelope. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, reason, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large', 'request headers too large, must be <= 16384 bytes']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout', 'the request did not arrive in time']
        : [400, 'Bad Request', 'this is not an HTTP request']
  const body = JSON.stringify({ error: true, message })
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  )
}
