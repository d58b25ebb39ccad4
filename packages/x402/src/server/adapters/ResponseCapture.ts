/**
 * Captures the response of a handler on the response object of `node:http` or `node:http2`. From the start until {@link
 * ResponseCapture.release}, every method of the object that reaches the connection is replaced, so that nothing is sent
 * in any order of calls. All of them are restored before anything is sent.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { type HeaderList, mergeHeader, sharedCacheHeaders } from '../gate/responses.js'
import { HiddenClose } from './HiddenClose.js'
import { functions, Overlay, withMembers } from './Overlay.js'

/** A request of `node:http` or `node:http2`. */
export type NodeRequest = IncomingMessage | Http2ServerRequest
/** A response of `node:http` or `node:http2`. */
export type NodeResponse = ServerResponse | Http2ServerResponse

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

/** Otherwise a client would wait for the missing bytes, or see a protocol error. */
export function hasItsLength(response: ServerResponse, status: number, bytes: number): boolean {
  const length = response.getHeader('content-length')
  const hasNone = response.req?.method === 'HEAD' || status === 204 || status === 304
  return length === undefined || hasNone || Number(length) === bytes
}

function encodingOf(encoding: unknown): BufferEncoding {
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8'
}

/** Applies the arguments of `writeHead` after the status: a message, headers in one of three forms, or both. */
export function setHead(response: ServerResponse, rest: readonly unknown[]): void {
  const [message] = rest
  if (typeof message === 'string') setMessage(response, message)
  const given = rest.find((one) => typeof one === 'object' && one !== null)
  if (given === undefined) return
  if (!Array.isArray(given)) {
    for (const [name, value] of Object.entries(given as OutgoingHttpHeaders)) {
      if (value !== undefined) response.setHeader(name, value)
    }
    return
  }
  const isNested = Array.isArray(given[0])
  const pairs = isNested ? (given as [string, string][]) : pairsOf(given as string[])
  for (const name of new Set(pairs.map(([one]) => one))) response.removeHeader(name)
  for (const [name, value] of pairs) response.appendHeader(name, value)
}

/** HTTP/2 has no status text, and Node warns if one is set. */
export function setMessage(response: ServerResponse, message: string): void {
  if (!('stream' in response)) response.statusMessage = message
}

/** Sets exactly these headers and removes all others. */
export function setHeaders(
  response: ServerResponse,
  headers: readonly (readonly [string, number | string | readonly string[]])[],
): void {
  const { sendDate } = response
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  for (const name of response.getHeaderNames()) if (!names.has(name.toLowerCase())) response.removeHeader(name)
  for (const [name, value] of headers) response.setHeader(name, value)
  // Node takes the removal of a Date header as a request to send none.
  response.sendDate = sendDate
}

/** The current headers of a response. */
export function headersOf(response: ServerResponse): [string, string][] {
  return Object.entries(response.getHeaders()).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
  )
}

/** Adds the headers of the gate to those of the response. */
export function addHeaders(response: ServerResponse, headers: HeaderList): void {
  for (const [name, value] of [...sharedCacheHeaders(response.getHeaderNames(), headers), ...headers]) {
    const before = response.getHeader(name)
    if (name.toLowerCase() === 'set-cookie') {
      response.setHeader(name, [...new Set([...[before ?? []].flat().map(String), value])])
      continue
    }
    // `no-store` of the gate replaces any other value.
    const isMerged = value !== 'no-store' && before !== undefined
    response.setHeader(name, isMerged ? mergeHeader(name, String(before), value) : value)
  }
}

function pairsOf(list: readonly string[]): [string, string][] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1]!] as [string, string]] : []))
}
