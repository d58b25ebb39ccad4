/**
 * Captures the response of a handler on the response object of `node:http` or `node:http2`. From the start until {@link
 * ResponseCapture.release}, every method of the object that reaches the connection is replaced, so that nothing is sent
 * in any order of calls. All of them are restored before anything is sent.
 */
import { EventEmitter } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import { encodingOf, hasItsLength, type NodeRequest, type NodeResponse, setHead } from './NodeMessage.js'
import { functions, Overlay, withMembers } from './Overlay.js'

/** The complete response, as of the moment the handler ended it. */
export type CapturedAnswer = {
  readonly status: number
  /** Set only with HTTP/1.1. */
  readonly message: string | undefined
  readonly headers: readonly (readonly [string, number | string | string[]])[]
  readonly trailers: readonly OutgoingHttpHeaders[]
  readonly body: Buffer
}

export type CaptureOptions = {
  readonly request: NodeRequest
  readonly response: NodeResponse
  readonly maxBytes: number
  /** Called once, when the handler has ended its response. */
  readonly onEnd: (answer: CapturedAnswer) => void
  /** Called once instead of `onEnd`, if there will be no complete response. */
  readonly onFailure: (why: string) => void
  /**
   * Called when the client disconnects, which is then hidden from the handler. Without this function, the handler sees
   * it.
   */
  readonly onClose?: (() => void) | undefined
}

type Callback = (error?: Error) => void

export class ResponseCapture {
  readonly #options: CaptureOptions
  readonly #response: ServerResponse
  readonly #output: Overlay
  readonly #state: Overlay
  readonly #requestState: Overlay
  readonly #hiddenClose: HiddenClose | undefined
  readonly #chunks: Buffer[] = []
  readonly #trailers: OutgoingHttpHeaders[] = []
  #bytes = 0
  /** The status when the body started. The status cannot change afterwards. */
  #startedStatus: number | undefined
  #isOpen = true
  #hasEnded = false
  #isReleased = false
  /** Programs around the handler may defer the end of the response, and its head is then created later. */
  #releasedStatus: number | undefined
  readonly #ownWriteHead: ServerResponse['writeHead']

  constructor(options: CaptureOptions) {
    const { request, response, onClose } = options
    this.#options = options
    // The members used here are the same with HTTP/2.
    this.#response = response as ServerResponse
    this.#ownWriteHead = this.#response.writeHead
    this.#hiddenClose = onClose && new HiddenClose(this.#response, onClose, request)
    const { socket } = request
    const socketOf = (isHiding: boolean): PropertyDescriptorMap =>
      socket === undefined || socket === null ? {} : connectionNames(lazily(() => this.#socket(socket, isHiding)))
    const streams = 'stream' in response ? { stream: { get: () => stream } } : {}
    const stream = 'stream' in response ? this.#stream(response.stream) : undefined
    this.#output = new Overlay(response, functions(this.#outputs()))
    this.#state = new Overlay(response, {
      ...(this.#response.socket === null ? {} : socketOf(true)),
      ...streams,
      writableEnded: { get: () => this.#hasEnded },
      finished: { get: () => this.#hasEnded, set: () => {} },
    })
    this.#requestState = new Overlay(request, { ...socketOf(false), ...streams })
  }

  /** Restores the response and sends it in one step. Later writes of the handler are dropped. */
  release(send: (response: ServerResponse) => void): void {
    this.#close()
    this.#isReleased = true
    this.#restore()
    try {
      send(this.#response)
    } finally {
      this.#releasedStatus = this.#response.statusCode
      this.#output.put()
      this.#hiddenClose?.tell()
    }
  }

  /** Restores the response for a program that sends another. Returns whether the handler had used it. */
  remove(): boolean {
    const isUsed = this.#startedStatus !== undefined || !this.#isOpen
    this.#isReleased = true
    this.#close()
    this.#restore()
    return isUsed
  }

  #restore(): void {
    for (const overlay of [this.#output, this.#state, this.#requestState]) overlay.remove()
    this.#hiddenClose?.restore()
  }

  /** Restores the response and closes its connection. */
  abort(): void {
    this.release((response) => response.destroy())
  }

  /** Ends the capture. */
  #close(): void {
    this.#isOpen = false
    this.#chunks.length = 0
  }

  fail(why: string): void {
    if (!this.#isOpen) return
    this.#close()
    this.#options.onFailure(why)
  }

  #take(chunk: unknown, encoding: unknown): void {
    this.#startedStatus ??= this.#response.statusCode
    if (chunk === undefined || chunk === null || typeof chunk === 'function') return
    const bytes =
      typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : Buffer.from(chunk as Uint8Array)
    const { maxBytes } = this.#options
    this.#bytes += bytes.length
    if (this.#bytes <= maxBytes) this.#chunks.push(bytes)
    else this.fail(`a response of more than ${maxBytes} bytes cannot be buffered; use paymentFlow: upfront`)
  }

  #end(): void {
    this.#hasEnded = true
    if (!this.#isOpen) return
    const response = this.#response
    const status = this.#startedStatus!
    const body = Buffer.concat(this.#chunks)
    if (status < 400 && response.statusCode >= 400) {
      // The part written before the failure is not sent.
      this.fail('the handler failed after it started to respond')
    } else if (!hasItsLength(response, status, body.length)) {
      this.fail("the response's length differs from its Content-Length")
    } else {
      const headers = namesOf(response).map((name) => [name, response.getHeader(name)!] as const)
      const message = 'stream' in response ? undefined : response.statusMessage
      this.#close()
      this.#options.onEnd({ status, message, headers, trailers: this.#trailers, body })
    }
  }

  #outputs() {
    const response = this.#response
    const ignore = (): void => {}
    const writeHead = (status: number, ...rest: unknown[]): ServerResponse => {
      if (this.#releasedStatus !== undefined && !response.headersSent) {
        return this.#ownWriteHead.call(response, this.#releasedStatus)
      }
      if (!this.#isOpen) return response
      response.statusCode = status
      setHead(response, rest)
      this.#startedStatus ??= status
      return response
    }
    return {
      writeHead,
      writeHeader: writeHead,
      flushHeaders: () => {
        this.#startedStatus ??= response.statusCode
      },
      write: (chunk: unknown, encoding?: unknown, done?: unknown): boolean => {
        if (this.#isOpen) this.#take(chunk, encoding)
        const callback = typeof encoding === 'function' ? encoding : done
        if (typeof callback === 'function') process.nextTick(callback)
        return this.#isOpen
      },
      end: (chunk?: unknown, encoding?: unknown, done?: unknown): ServerResponse => {
        if (this.#hasEnded) return response
        const callback = [chunk, encoding, done].find((one) => typeof one === 'function') as Callback | undefined
        if (callback !== undefined) response.once('finish', callback)
        if (this.#isOpen) this.#take(chunk, encoding)
        this.#end()
        return response
      },
      addTrailers: (headers: OutgoingHttpHeaders) => void this.#trailers.push(headers),
      setTrailer: (name: string, value: string) => void this.#trailers.push({ [name]: value }),
      // After the end, this has no effect on the response.
      destroy: (): ServerResponse => {
        this.fail('the handler destroyed its response')
        return response
      },
      cork: ignore,
      uncork: ignore,
      // Early hints and pushes are optional, and would reveal content that is not paid for.
      writeEarlyHints: (_: unknown, done?: Callback) => done?.(),
      writeProcessing: ignore,
      writeInformation: ignore,
      createPushResponse: (_: unknown, done?: Callback) => void (done && process.nextTick(done, noPush())),
    }
  }

  /** A socket for everything that handlers use it for except writing. */
  #socket(socket: NodeRequest['socket'], isHiding: boolean): NodeRequest['socket'] {
    const members = this.#refusing(socket, ['write', 'end', 'destroy', 'destroySoon', 'resetAndDestroy'])
    const hidden = isHiding && !('stream' in this.#response) ? this.#hiddenClose?.socketMembers(socket) : undefined
    return withMembers(socket, Object.defineProperties(members, Object.getOwnPropertyDescriptors(hidden ?? {})))
  }

  #stream(stream: Http2ServerResponse['stream']): Http2ServerResponse['stream'] {
    const outputs = ['respond', 'respondWithFD', 'respondWithFile', 'sendTrailers', 'write', 'end', 'close', 'destroy']
    return withMembers(stream, {
      ...this.#refusing(stream, outputs),
      pushAllowed: false,
      additionalHeaders: () => {},
      pushStream: (_: unknown, options: unknown, done = options) => process.nextTick(done as Callback, noPush()),
    })
  }

  /** Methods that would bypass the capture. */
  #refusing(target: object, names: readonly string[]): { [name: string]: unknown } {
    const entries = names.map((name) => {
      const refuse = (...args: unknown[]): unknown => {
        if (this.#isReleased) return Reflect.apply(Reflect.get(target, name) as () => unknown, target, args)
        this.fail(`the handler called ${name}() on the connection, which cannot be buffered`)
        return name === 'write' ? false : undefined
      }
      return [name, refuse]
    })
    return Object.fromEntries(entries)
  }
}

/** `client` is an own property of a request. The getter of `connection` may not use `socket`. */
function connectionNames(socket: PropertyDescriptor): PropertyDescriptorMap {
  return { socket, connection: { ...socket }, client: { ...socket } }
}

/** A property that is created when it is first read, which most handlers never do. */
function lazily<T>(make: () => T): PropertyDescriptor {
  let made: { value: unknown } | undefined
  return {
    get: () => {
      made ??= { value: make() }
      return made.value
    },
    set: (value: unknown) => {
      made = { value }
    },
  }
}

/** The header names as written, if they are known. */
function namesOf(response: ServerResponse & { getRawHeaderNames?: () => string[] }): string[] {
  return response.getRawHeaderNames?.() ?? response.getHeaderNames()
}

function noPush(): Error {
  return new Error('a response that is not paid for yet cannot push another response')
}

type Listener = (...args: unknown[]) => void

type Closable = { destroyed?: boolean; _closed?: boolean }

type Hidden = { readonly name: string; readonly args: readonly unknown[] }

/**
 * Hides from a handler that its client has disconnected, until its response is captured. Otherwise pipes, and
 * frameworks with files and streams, would stop in the middle, and the response that the buyer paid for would never be
 * complete.
 */
export class HiddenClose {
  readonly #response: ServerResponse
  readonly #overlay: Overlay
  readonly #values: Closable = {}
  /** Listeners on the socket, which receive its end afterwards. */
  readonly #ofSocket = new EventEmitter()
  #socket: Duplex | undefined
  #events: string[] = []
  #isHidden = true
  readonly #request: NodeRequest
  readonly #requestOverlay: Overlay
  readonly #requestValues: { aborted?: boolean } = {}
  #requestEvents: Hidden[] = []

  /** `onClose` is still called. */
  constructor(response: ServerResponse, onClose: () => void, request: NodeRequest) {
    this.#response = response
    this.#request = request
    this.#requestOverlay = this.#hideOnRequest(request)
    const emit = response.emit.bind(response)
    const values = this.#values
    const hide = (name: string | symbol, ...args: unknown[]): boolean => {
      // With HTTP/2, a reset stream also emits `finish`.
      if (name !== 'close' && name !== 'finish') return emit(name as string, ...args)
      this.#events.push(name)
      if (name === 'close') onClose()
      return true
    }
    this.#overlay = new Overlay(response, {
      ...functions({ emit: hide as never }),
      closed: { get: () => false },
      destroyed: { get: () => false, set: (destroyed: boolean) => void Object.assign(values, { destroyed }) },
      _closed: { get: () => false, set: (_closed: boolean) => void Object.assign(values, { _closed }) },
    })
  }

  /** Whether the client left before the request was read to its end, which is hidden from the handler. */
  get isAborted(): boolean {
    return this.#requestValues.aborted ?? false
  }

  /** Events of the request also make handlers stop. A handler that still reads the body gets them. */
  #hideOnRequest(request: NodeRequest): Overlay {
    const emit = request.emit.bind(request)
    const values = this.#requestValues
    const hide = (name: string, ...args: unknown[]): boolean => {
      if (!['aborted', 'close', 'error'].includes(name) || !isLeft(request)) return emit(name, ...args)
      this.#requestEvents.push({ name, args })
      return true
    }
    const aborted = {
      get: () => !isLeft(request) && this.isAborted,
      set: (value: boolean) => void Object.assign(values, { aborted: value }),
    }
    // With HTTP/2, `aborted` cannot be set.
    return new Overlay(request, { ...functions({ emit: hide as never }), ...('stream' in request ? {} : { aborted }) })
  }

  /** The replaced members of the socket. */
  socketMembers(socket: Duplex): { readonly [name: string]: unknown } {
    this.#socket = socket
    const emitter: EventEmitter = socket
    const toHidden = (name: 'on' | 'once' | 'off') => (event: string, listener: Listener) => {
      const isEnd = event === 'close' || event === 'error' || event === 'end'
      if (isEnd && (this.#isHidden || name === 'off')) this.#ofSocket[name](event, listener)
      if (!isEnd || !this.#isHidden) emitter[name](event, listener)
      return this.#response.socket
    }
    const [on, once, off] = [toHidden('on'), toHidden('once'), toHidden('off')]
    const isHidden = (): boolean => this.#isHidden
    return {
      ...{ on, addListener: on, once, off, removeListener: off },
      get destroyed() {
        return isHidden() ? false : socket.destroyed
      },
      get writable() {
        return isHidden() ? true : socket.writable
      },
      get readable() {
        return isHidden() ? true : socket.readable
      },
    }
  }

  /** Restores the response and the request. */
  restore(): void {
    this.#isHidden = false
    this.#overlay.remove()
    this.#requestOverlay.remove()
    Object.assign(this.#response, this.#values)
    Object.assign(this.#request, this.#requestValues)
  }

  /** Emits the hidden events, now that nothing can be cut off. */
  tell(): void {
    const events = this.#events
    this.#events = []
    for (const name of events) this.#response.emit(name)
    const requestEvents = this.#requestEvents
    this.#requestEvents = []
    for (const { name, args } of requestEvents) {
      // An error without a listener would end the process.
      if (name !== 'error' || this.#request.listenerCount('error') > 0) this.#request.emit(name, ...args)
    }
    const socket = this.#socket
    for (const name of ['error', 'close', 'end'] as const) {
      for (const listener of this.#ofSocket.rawListeners(name) as Listener[]) socket?.on(name, listener)
    }
    if (socket?.destroyed && this.#ofSocket.listenerCount('close') > 0) this.#ofSocket.emit('close', false)
  }
}

/** Whether the client has left and nothing of its request is left to read. */
function isLeft(request: NodeRequest): boolean {
  if ('stream' in request) {
    const { endAfterHeaders, closed, destroyed, aborted } = request.stream
    return (endAfterHeaders || request.readableEnded) && (closed || destroyed || aborted)
  }
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  // A request whose body was read closes without an error.
  return request.errored !== null && encoding === undefined && Number(length) === 0
}
