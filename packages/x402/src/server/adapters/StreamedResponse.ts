/**
 * Streams the response of a handler on the response objects of `node:http` and `node:http2`, for a payment that was
 * settled before. The payment is used up when the client has the whole response. If the client leaves before, the
 * handler continues, and its response is held for the next request with the payment. If the handler fails, or the
 * response is too long to be held, the next request produces it again.
 */
import type { ServerResponse } from 'node:http'
import { type Admission, isSentOnce } from '../exchange/Admission.js'
import { invalidCharge, overridesHeader, UsageError, withoutOverrides } from '../exchange/Usage.js'
import type { HeaderList } from '../gate/responses.js'
import { ClientWait } from './ClientWait.js'
import {
  addHeaders,
  addHeadersOnSend,
  cutResponse,
  encodingOf,
  hasItsLength,
  type NodeRequest,
  type NodeResponse,
  onUndelivered,
  sendBeforeDestroy,
  setMessage,
} from './NodeMessage.js'
import { functions, Overlay } from './Overlay.js'
import { HiddenClose } from './ResponseCapture.js'
import { StreamCopy } from './StreamCopy.js'
import { sentHeaders } from './sentHeaders.js'

export type StreamOptions = {
  readonly request: NodeRequest
  readonly response: NodeResponse
  readonly admission: Admission
  readonly onError: (error: unknown) => void
}

export class StreamedResponse {
  readonly #options: StreamOptions
  readonly #response: ServerResponse
  readonly #own: Pick<ServerResponse, 'write' | 'end' | 'destroy'>
  readonly #copy = new StreamCopy()
  readonly #clientWait = new ClientWait()
  /**
   * Undefined for a request opened by a pass. Its response is sent once, and its handler sees that the client has left.
   */
  readonly #hidden: HiddenClose | undefined
  readonly #bytesBefore: number
  #head: { readonly status: number; readonly headers: HeaderList } | undefined
  #isGone = false
  #needsDrain = false
  /** The handler has ended, has failed or was abandoned. */
  #isOver = false
  /** An error was sent instead of the handler's response. */
  #isRefused = false

  constructor(options: StreamOptions) {
    const { request, response: nodeResponse, admission } = options
    // The members used here are the same with HTTP/2.
    const response = nodeResponse as ServerResponse
    this.#options = options
    this.#response = response
    this.#bytesBefore = request.socket?.bytesWritten ?? 0
    this.#own = {
      write: response.write.bind(response),
      end: response.end.bind(response),
      destroy: response.destroy.bind(response),
    }
    const onClose = (): void => this.#leave()
    if (!isSentOnce(admission)) this.#hidden = new HiddenClose(response, onClose, request)
    else response.once('close', onClose)
    response.on('drain', () => this.#clientWait.end())
    const write = (chunk: unknown, ...rest: unknown[]): boolean => this.#write(chunk, rest)
    const end = (...args: unknown[]): ServerResponse => this.#end(args)
    const destroy = (error?: Error): ServerResponse => this.#destroy(error)
    new Overlay(response, functions({ write, end, destroy }))
    if (admission.isMetered) hideOverrides(response)
    addHeadersOnSend(response, sentHeaders(admission), (status, headers) => this.#begin(status, headers))
    admission.cut?.addEventListener('abort', () => this.#cutOff(), { once: true })
    sendBeforeDestroy(request, response, () => {
      // Node destroys the socket of a request whose client is leaving. Later, it is the handler that fails.
      if (this.#isGone || !(this.#hidden?.isAborted ?? request.aborted)) this.#fail()
    })
  }

  /** The head is about to be sent. */
  #begin(status: number, headers: HeaderList): void {
    const { admission, onError } = this.#options
    this.#head = { status, headers }
    if (admission.isMetered) this.#response.removeHeader(overridesHeader)
    if (status >= 400) {
      this.#cancel()
      return
    }
    try {
      admission.noteHeaders?.(headers)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      onError(error)
      this.#refuse()
    }
  }

  /** Sends an error instead of a response that cannot be charged. The handler's output is dropped. */
  #refuse(): void {
    const { admission } = this.#options
    const response = this.#response
    this.#isOver = true
    this.#isRefused = true
    this.#cancel()
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    response.statusCode = 500
    setMessage(response, '')
    response.setHeader('Content-Type', 'application/json')
    addHeaders(response, sentHeaders(admission))
    this.#own.end(JSON.stringify(invalidCharge))
  }

  /** Sends a head that may be refused before the first piece. */
  #checkHead(): void {
    if (this.#isOver || this.#head !== undefined || !this.#response.hasHeader(overridesHeader)) return
    if (this.#options.admission.isMetered) this.#response.writeHead(this.#response.statusCode)
  }

  #write(chunk: unknown, rest: unknown[]): boolean {
    this.#checkHead()
    if (this.#isRefused) return false
    // With HTTP/2, `end` calls `write`.
    if (this.#isOver) return this.#own.write(chunk as never, ...(rest as never[]))
    this.#take(chunk, rest[0])
    if (!this.#isGone) {
      const isReady = this.#own.write(chunk as never, ...(rest as never[]))
      this.#needsDrain = !isReady
      if (!isReady) this.#clientWait.begin()
      return isReady
    }
    if (this.#head === undefined) this.#response.writeHead(this.#response.statusCode)
    const done = rest.find((one) => typeof one === 'function') as (() => void) | undefined
    if (done !== undefined) process.nextTick(done)
    if (this.#copy.isTooLong) this.#giveUp()
    return !this.#isOver
  }

  #end(args: unknown[]): ServerResponse {
    this.#checkHead()
    if (this.#isRefused) return this.#response
    if (this.#isOver) return this.#own.end(...(args as never[]))
    this.#take(args[0], args[1])
    this.#isOver = true
    const { response, onError } = this.#options
    const { status, headers } = this.#head!
    if (hasItsLength(this.#response, status, this.#copy.bytes)) {
      this.#hidden?.restore()
      const { admission } = this.#options
      // A handler that sees that its client has left may end a response early, which is no answer to repeat.
      const body = isSentOnce(admission) && this.#hasClientLeft ? undefined : this.#copy.body()
      const held = body === undefined ? undefined : { status, headers, body }
      const settled = admission.settle(held).then(() => {}, onError)
      const undelivered = async (): Promise<void> => {
        await settled
        await admission.undelivered()
      }
      onUndelivered(response, undelivered, onError)
    } else {
      this.#breakOff()
      this.#hidden?.restore()
    }
    const result = this.#own.end(...(args as never[]))
    this.#hidden?.tell()
    return result
  }

  #destroy(error: Error | undefined): ServerResponse {
    const destroy = (): ServerResponse => this.#own.destroy(error)
    if (this.#isOver) return destroy()
    this.#fail()
    cutResponse(this.#options.response, destroy)
    return this.#response
  }

  /** The time of a metered response is up. Its charge is settled, and nothing more is sent. */
  #cutOff(): void {
    // A response that the handler has ended was charged then, and is sent to its end.
    if (this.#isOver) return
    this.#isOver = true
    cutResponse(this.#options.response, () => void this.#own.destroy())
  }

  /** The handler breaks off its response. */
  #fail(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#breakOff()
    this.#hidden?.restore()
    process.nextTick(() => this.#hidden?.tell())
  }

  /** The client has left, and the rest of the response cannot be held. */
  #giveUp(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancel()
    this.#hidden?.restore()
    this.#hidden?.tell()
  }

  /** The connection is closed, and the handler has not ended. */
  #leave(): void {
    if (this.#isOver) return
    const { admission, onError } = this.#options
    this.#isGone = true
    const direct = this.#directOutput()
    if (direct === 'sent' || isSentOnce(admission)) {
      this.#isOver = true
      admission.settle(undefined).catch(onError)
      this.#hidden?.restore()
      this.#hidden?.tell()
      return
    }
    if (direct === 'cut' || this.#copy.isTooLong) {
      this.#giveUp()
      return
    }
    // The handler waits for a connection that accepts no more data.
    if (this.#needsDrain) process.nextTick(() => this.#response.emit('drain'))
    admission.disconnected().then(() => this.#giveUp(), onError)
  }

  /**
   * Whether the handler closed the connection itself, or wrote to it directly, bypassing the response, so that there is
   * no copy.
   */
  #directOutput(): 'sent' | 'cut' | undefined {
    const { request, response } = this.#options
    if ('stream' in response) {
      const { headersSent, aborted, rstCode } = response.stream
      if (this.#head !== undefined || !headersSent) return undefined
      return aborted || rstCode !== 0 ? 'cut' : 'sent'
    }
    const { readableEnded, errored, bytesWritten } = request.socket
    // Otherwise, the client closed it.
    if (readableEnded || errored !== null) return undefined
    return this.#head === undefined && bytesWritten > this.#bytesBefore ? 'sent' : 'cut'
  }

  #cancel(): void {
    const { admission, onError } = this.#options
    admission.cancel().catch(onError)
  }

  /**
   * The response ends before its end. Handlers break off when the client leaves, which they may learn before the
   * response is closed, or when it does not read for long. The client then has what it wanted, and the handler has not
   * failed.
   */
  #breakOff(): void {
    const { admission, onError } = this.#options
    const isOfClient = this.#hasClientLeft || this.#isUnread || this.#clientWait.isLong
    if (isSentOnce(admission) && isOfClient) admission.settle(undefined).catch(onError)
    else this.#cancel()
  }

  /** Whether the client has closed its side of the connection, or its stream. */
  get #hasClientLeft(): boolean {
    const { request, response } = this.#options
    if (request.aborted) return true
    if ('stream' in response) return response.stream.closed || response.stream.destroyed
    const { readableEnded, errored, destroyed } = request.socket
    return readableEnded || errored instanceof Error || destroyed
  }

  /** Whether the response waits for a client that does not read. */
  get #isUnread(): boolean {
    const { response } = this.#options
    return 'stream' in response ? response.stream.writableNeedDrain : this.#response.writableNeedDrain
  }

  #take(chunk: unknown, encoding: unknown): void {
    if (typeof chunk === 'string') this.#copy.add(Buffer.from(chunk, encodingOf(encoding)))
    else if (chunk instanceof Uint8Array) this.#copy.add(chunk)
  }
}

/** A charge is the seller's, also where it has no effect: in a trailer and in early hints. */
function hideOverrides(response: ServerResponse): void {
  const { setTrailer } = response as unknown as { readonly setTrailer?: (name: string, value: unknown) => unknown }
  const { addTrailers, writeEarlyHints } = response
  const hidden = {
    addTrailers: (headers: object): unknown => addTrailers.call(response, withoutOverrides(headers) as never),
    writeEarlyHints: (hints: object, done?: () => void): unknown =>
      writeEarlyHints.call(response, withoutOverrides(hints) as never, done),
  }
  new Overlay(response, functions(hidden))
  // Only HTTP/2 has it.
  if (setTrailer === undefined) return
  const set = (name: string, value: unknown): unknown =>
    name.toLowerCase() === overridesHeader.toLowerCase() ? undefined : setTrailer.call(response, name, value)
  new Overlay(response, functions({ setTrailer: set }))
}
