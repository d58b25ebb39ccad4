/**
 * One connection to a server, with one exchange at a time.
 *
 * ```
 * connecting ─► approving ─► idle ◄─► busy ─► closed
 *     └─────────────┴─── nothing is sent ───────►┘
 * ```
 */
import type { Socket } from 'node:net'
import type { TLSSocket, ConnectionOptions as TlsOptions } from 'node:tls'
import { ResponseError, type ResponseHead, ResponseReader } from './ResponseReader.js'
import type { Server } from './Server.js'
import { type Ends, TransportError, timerMs } from './Transport.js'

/** How a connection is opened, and where it reports. */
export type ConnectionOptions = {
  readonly server: Server
  /** Checks the peer before anything is sent. */
  readonly approve: ((ends: Ends) => Promise<void>) | undefined
  /** The time limit of the connection's set-up; undefined if only the exchange is limited. */
  readonly connectMs: number | undefined
  /** The TLS session of an earlier connection, which shortens the handshake. */
  readonly session?: Buffer | undefined
  readonly onSession?: ((session: Buffer) => void) | undefined
  /** Called when an exchange has ended and the server keeps the connection. */
  readonly onIdle: (connection: Connection) => void
  readonly onClose: (connection: Connection) => void
}

type State = 'connecting' | 'approving' | 'idle' | 'busy' | 'closed'

const tcpKeepAliveMs = 1_000

/** A connection, from its first exchange to its end. */
export class Connection implements ExchangeConnection {
  readonly #options: ConnectionOptions
  readonly #socket: Socket
  readonly #reader = new ResponseReader()
  #exchange: Exchange | undefined
  #state: State = 'connecting'
  #isReused = false
  #isWritten = false
  isPaused = false
  #connectTimer: ReturnType<typeof setTimeout> | undefined
  /** Until when an idle connection may be used, on the clock of `performance.now()`. */
  usableUntil = 0
  /** Whether the connection closes after its exchange. */
  isLast = false

  /** Opens a connection for a first exchange. */
  constructor(options: ConnectionOptions, exchange: Exchange) {
    this.#options = options
    this.#exchange = exchange
    exchange.connection = this
    const socket = open(options)
    this.#socket = socket
    const { connectMs, server } = options
    if (connectMs !== undefined) {
      const late = (): void => this.#fail(new Error(`no connection within ${connectMs} ms`))
      this.#connectTimer = setTimeout(late, connectMs)
    }
    socket.once(server.isSecure ? 'secureConnect' : 'connect', () => this.#connected())
    socket.on('data', (bytes: Buffer) => this.#read(bytes))
    socket.on('end', () => this.#ended())
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(closedError()))
  }

  /** How long the server keeps an idle connection, if it announced that. */
  get announcedMs(): number | undefined {
    return this.#reader.announcedMs
  }

  /** Whether the connection is open and serves no exchange. The events of a socket that broke come a tick later. */
  get isIdle(): boolean {
    return this.#state === 'idle' && !this.#socket.destroyed
  }

  get isUnsent(): boolean {
    return this.#state === 'connecting' || this.#state === 'approving'
  }

  /** Sends a request on an idle connection. */
  send(exchange: Exchange): void {
    this.#isReused = true
    this.#exchange = exchange
    exchange.connection = this
    this.#socket.ref()
    this.#write(exchange)
  }

  /** Lets the program exit although the connection is open. */
  unref(): void {
    this.#socket.unref()
  }

  pause(): void {
    this.isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.#socket.resume()
  }

  destroy(): void {
    this.#exchange = undefined
    this.#close()
  }

  #connected(): void {
    const { approve } = this.#options
    if (this.#state !== 'connecting') return
    if (approve === undefined) {
      this.#established()
      return
    }
    this.#state = 'approving'
    approve(endsOf(this.#socket)).then(
      () => this.#state === 'approving' && this.#established(),
      (error) => this.#end(error as Error),
    )
  }

  #established(): void {
    clearTimeout(this.#connectTimer)
    if (this.#exchange === undefined) this.#close()
    else this.#write(this.#exchange)
  }

  #write(exchange: Exchange): void {
    this.#state = 'busy'
    this.#isWritten = false
    const { method, head, body } = exchange.request
    this.#reader.start(exchange, method)
    const onWritten = (): void => {
      this.#isWritten = true
    }
    if (body === undefined) {
      this.#socket.write(head, 'latin1', onWritten)
      return
    }
    // One write, with bytes that can be wiped: the body may hold a password.
    const bytes = Buffer.allocUnsafe(head.length + body.length)
    bytes.write(head, 0, 'latin1')
    bytes.set(body, head.length)
    this.#socket.write(bytes, () => {
      bytes.fill(0)
      onWritten()
    })
  }

  #read(bytes: Buffer): void {
    // An idle server has nothing to send.
    if (this.#state !== 'busy') {
      this.#fail(new ResponseError('HPE_INVALID_RESPONSE', 'a response arrived before its request'))
      return
    }
    try {
      this.#reader.read(bytes)
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    if (this.#reader.isComplete) this.#complete()
  }

  #ended(): void {
    if (this.#state === 'busy' && this.#reader.close()) this.#complete()
    else this.#fail(closedError())
  }

  /** A response that is sent before its request was read leaves the rest of the request on the connection. */
  #complete(): void {
    const exchange = this.#exchange
    // The exchange was cancelled while it read its response.
    if (exchange === undefined) return
    this.#exchange = undefined
    this.resume()
    if (this.#reader.isPersistent && this.#isWritten && exchange.request.isKept) {
      this.#state = 'idle'
      this.#options.onIdle(this)
    } else this.#close()
    exchange.end()
  }

  #fail(error: NodeJS.ErrnoException): void {
    if (this.#state === 'closed') return
    const { isUnsent } = this
    const hasResponse = this.#state === 'busy' && this.#reader.hasBegun
    const state = { hasResponse, isNewConnection: !this.#isReused, isUnsent, isConnecting: isUnsent }
    this.#end(TransportError.ofSystem(error.code, { ...state, cause: error }))
  }

  #end(error: Error): void {
    const exchange = this.#exchange
    this.#exchange = undefined
    this.#close()
    exchange?.fail(error)
  }

  #close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    clearTimeout(this.#connectTimer)
    this.#socket.destroy()
    this.#options.onClose(this)
  }
}

function open({ server, session, onSession }: ConnectionOptions): Socket {
  const { isSecure, host, port, socketPath } = server
  if (!isSecure) {
    const { connect } = process.getBuiltinModule('node:net')
    if (socketPath !== undefined) return connect({ path: socketPath })
    return connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: tcpKeepAliveMs })
  }
  const { connect } = process.getBuiltinModule('node:tls')
  const { isIP } = process.getBuiltinModule('node:net')
  const options: TlsOptions & { noDelay: boolean; keepAlive: boolean; keepAliveInitialDelay: number } = {
    ...{ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: tcpKeepAliveMs },
    // RFC 6066, 3: an address is not a server name.
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
  }
  const socket: TLSSocket = connect(session === undefined ? options : { ...options, session })
  if (onSession !== undefined) socket.on('session', onSession)
  return socket
}

function endsOf({ localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 }: Socket): Ends {
  return {
    local: { address: localAddress, port: localPort },
    remote: { address: remoteAddress, port: remotePort },
  }
}

/** The system has no error for a peer that closes a connection in order. */
function closedError(): NodeJS.ErrnoException {
  return Object.assign(new Error('other side closed'), { code: 'ECONNRESET' })
}

/** The connection of an exchange, as far as the exchange controls it. */
export type ExchangeConnection = {
  /** Whether the exchange certainly has not reached the server. */
  readonly isUnsent: boolean
  readonly isPaused: boolean
  /** Stops reading the body of the response, until `resume`. */
  pause: () => void
  resume: () => void
  destroy: () => void
}

/** The bytes of a request. */
export type ExchangeRequest = {
  readonly server: Server
  readonly method: string
  /** The request line and the headers, one character per byte. */
  readonly head: string
  readonly body: Uint8Array | undefined
  /** Whether the exchange uses a kept connection, and leaves it to others. */
  readonly isKept: boolean
}

/** A request, and the receiver of its response. */
export abstract class Exchange<Result = unknown> {
  readonly request: ExchangeRequest
  readonly result: Promise<Result>
  /** Set while the exchange has a connection. */
  connection: ExchangeConnection | undefined
  isOver = false
  protected reject!: (error: unknown) => void
  /** An exchange of any result can be sent, so the type is not that of the result. */
  #resolve!: (result: never) => void
  readonly #signal: AbortSignal | undefined
  readonly #onAbort = (): void => this.fail(this.#signal!.reason)
  readonly #limitMs: number
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param limitMs the time until `onLate` */
  constructor(request: ExchangeRequest, signal: AbortSignal | undefined, limitMs: number) {
    this.request = request
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.reject = reject
    })
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    this.#limitMs = timerMs(limitMs)
    this.restartTimer()
  }

  abstract onHead(head: ResponseHead): void
  /** The piece shares its memory with others, and may be wiped. */
  abstract onData(piece: Buffer): void
  /** Called once, unless `onError` is. */
  protected abstract onEnd(): void
  protected abstract onError(error: unknown): void
  protected abstract onLate(): void

  /** Ends the exchange with its response. */
  end(): void {
    if (this.#finish()) this.onEnd()
  }

  /** Ends the exchange with an error, and closes its connection. */
  fail(error: unknown): void {
    const { connection } = this
    if (!this.#finish()) return
    connection?.destroy()
    this.onError(error)
  }

  protected resolve(result: Result): void {
    this.#resolve(result as never)
  }

  /** Starts the time until `onLate` again. */
  protected restartTimer(): void {
    clearTimeout(this.#timer)
    if (!this.isOver) this.#timer = setTimeout(() => this.onLate(), this.#limitMs)
  }

  /** Returns false if the exchange is over already. From here on the connection belongs to others. */
  #finish(): boolean {
    if (this.isOver) return false
    this.isOver = true
    this.connection = undefined
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
    return true
  }
}

const invalidTarget = /[^\x21-\x7e\x80-\xff]/
const invalidName = /[^!#$%&'*+.^_`|~0-9A-Za-z-]|^$/
const invalidValue = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Writes the request line and the headers, with `Host` first and `Connection` last.
 *
 * @throws TransportError for characters that would change the request
 */
export function requestHead(
  { method, path, authority, isKept }: { method: string; path: string; authority: string; isKept: boolean },
  headers: Iterable<readonly [name: string, value: string]>,
): string {
  if (invalidTarget.test(path) || invalidName.test(method)) throw unsendable('the path or the method')
  let text = `${method} ${path} HTTP/1.1\r\nHost: ${authority}\r\n`
  for (const [name, value] of headers) {
    if (invalidValue.test(value) || invalidName.test(name)) throw unsendable(`the header ${JSON.stringify(name)}`)
    text += `${name}: ${value}\r\n`
  }
  return `${text}Connection: ${isKept ? 'keep-alive' : 'close'}\r\n\r\n`
}

function unsendable(what: string): TransportError {
  const cause = new TypeError(`${what} has characters that cannot be sent`)
  return new TransportError('broken', { cause, isUnsent: true })
}
