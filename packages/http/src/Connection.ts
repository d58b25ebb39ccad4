/** One connection. Requests are read and answered one after the other, regardless of how far ahead the peer sends. */
import type { Socket } from 'node:net'
import { BodyBudget, BodyReservation } from './BodyBudget.js'
import { BodyError, type BodyReader, ChunkedReader, ofLength, type ReserveMemory } from './BodyReader.js'
import { CloseListeners } from './CloseListeners.js'
import * as Exchange from './Exchange.js'
import { type ConnectionOptions, lazyEnds } from './Limits.js'
import { type BodySource, dropConnection, type HostResponse, type RawRequest } from './Message.js'
import type * as RequestHead from './RequestHead.js'
import { HeadParser } from './RequestHead.js'
import * as RequestId from './RequestId.js'
import { RecordBuilder } from './RequestRecord.js'
import * as ResponseWriter from './ResponseWriter.js'
import { isSecret, isSource, keepAliveValue } from './ResponseWriter.js'
import { onInput } from './SocketInput.js'

const nothing = Buffer.alloc(0)

export class Connection {
  readonly #options: ConnectionOptions
  readonly #socket: Socket
  #phase: Exchange.Phase = 'idle'
  #input: Buffer = nothing
  readonly #heads = new HeadParser()
  #body: Exchange.PendingBody | undefined
  #deadline: number
  #peerEnded = false
  #isOwners = false
  #holder: string | undefined
  #isUnverified = false
  #isDeferred = false
  #usedAt: number
  readonly #record: RecordBuilder
  readonly #bodies: BodyBudget
  /** When to stop reading from a peer that still sends after its last response. */
  #lingerEnd = 0
  readonly #closeListeners = new CloseListeners()
  // Created once per connection, so that a request that does not need it costs nothing.
  readonly #localAddress = (): string | undefined => this.#socket.localAddress
  readonly #remoteAddress = (): string | undefined => this.#socket.remoteAddress
  readonly #authenticated = (holder?: string): boolean => {
    this.#isOwners = holder === undefined
    this.#holder = holder
    return this.#options.holders?.admit(this, holder) ?? true
  }
  readonly #unverified = (): void => {
    this.#isUnverified = true
  }
  readonly #matched = (route: string): void => {
    this.#record.route = route
  }
  readonly #concerns = (payment: string): void => {
    this.#record.payment = payment
  }
  readonly #onClose = (listener: () => void): void => {
    if (this.#peerEnded || this.#socket.destroyed) queueMicrotask(listener)
    else this.#closeListeners.add(listener)
  }
  readonly #ends = lazyEnds(() => this.#socket)

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#socket = options.socket
    this.#record = new RecordBuilder(options.onRequest)
    this.#bodies = options.bodies ?? new BodyBudget(options.limits)
    this.#usedAt = performance.now()
    this.#deadline = this.#usedAt + options.limits.headersMs
    onInput(this.#socket, (input) => this.#receive(input))
    this.#socket.on('end', () => this.#end())
    this.#socket.on('error', () => this.#socket.destroy())
    this.#socket.on('close', () => this.#close())
  }

  /**
   * When the connection was made, or the head of its last request was complete. A partial request does not count as
   * use.
   */
  get usedAt(): number {
    return this.#usedAt
  }

  /** Whether the peer has no request in progress, not even a partial one. */
  get isIdle(): boolean {
    return this.#phase === 'idle' && this.#input.length === 0
  }

  /**
   * Whether the server waits for the peer, and not the reverse: the peer is idle, sends its request slowly, or does not
   * read its response. A peer that is not identified yet counts as stalled until it is.
   */
  get isStalled(): boolean {
    if (this.#phase === 'handling') return this.#isUnverified
    return this.#phase !== 'streaming' || this.#socket.writableNeedDrain
  }

  /** Called periodically. Ends whatever takes too long. */
  checkTime(now: number): void {
    // A separate deadline, because a stream that makes progress must not extend the time for the body.
    if (this.#body !== undefined && now >= this.#body.deadline) this.#failBody(new BodyError('body_timeout'))
    if (now < this.#deadline) return
    if (this.#phase === 'head') this.#refuse(408, 'the request did not arrive in time')
    // Only writing shows whether a peer that ended its side still reads.
    else if (this.#phase === 'streaming' && this.#peerEnded) this.#socket.destroy()
    else if (this.#phase !== 'handling' && this.#phase !== 'streaming') this.#socket.destroy()
    else if (this.#socket.writableLength > 0) this.#socket.destroy()
  }

  /** Closes the connection immediately if no request is in progress, and otherwise after the response. */
  stop(): void {
    if (this.#phase === 'idle' && this.#socket.writableLength > 0) {
      this.#finish()
      return
    }
    const isAnswered = this.#phase === 'ending' && this.#socket.writableLength === 0
    if (this.#phase === 'idle' || this.#phase === 'head' || isAnswered) this.#socket.destroy()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** `input` is wiped afterwards. */
  #receive(input: Buffer): void {
    // After the last response, incoming data is read and dropped, so that the peer can read the response.
    if (this.#phase === 'ending') {
      if (this.#socket.writableFinished) this.#linger()
      return
    }
    if (this.#body !== undefined) {
      this.#readBody(this.#body, input)
      return
    }
    this.#keep(input)
    this.#pauseIfAhead()
    // Requests that were sent ahead wait for their turn, regardless of how many follow.
    const isIdle = this.#phase === 'idle' && !this.#isDeferred
    if (isIdle || this.#phase === 'head') this.#readHead()
  }

  /** Adds a copy of bytes that arrived to the input. */
  #keep(input: Buffer): void {
    const before = this.#input
    this.#input = before.length === 0 ? Buffer.from(input) : Buffer.concat([before, input])
    before.fill(0)
  }

  /** Drops input that belongs to no request. It may contain a password. */
  #dropInput(length = this.#input.length): void {
    this.#input.fill(0, 0, length)
    this.#input = length === this.#input.length ? nothing : this.#input.subarray(length)
  }

  /** A peer that sends far ahead of its responses has to wait. */
  #pauseIfAhead(): void {
    if (this.#input.length > this.#options.limits.headerBytes) this.#socket.pause()
  }

  #readHead(): void {
    const { limits } = this.#options
    const now = performance.now()
    if (this.#phase === 'idle') {
      this.#phase = 'head'
      this.#deadline = now + limits.headersMs
    }
    // RFC 9112, section 2.2: an empty line before a request is ignored.
    if (this.#input[0] === 0x0d && this.#input[1] === 0x0a) this.#input = this.#input.subarray(2)
    const repeated = this.#heads.repeatedLength(this.#input)
    if (repeated > 0) {
      this.#input = this.#input.subarray(repeated)
      this.#serve(this.#heads.repeated, now)
      return
    }
    const end = this.#input.indexOf('\r\n\r\n')
    if (end > limits.headerBytes || (end < 0 && this.#input.length > limits.headerBytes)) {
      this.#refuse(431, `request headers too large, must be <= ${limits.headerBytes} bytes`)
      return
    }
    if (end < 0) {
      if (this.#peerEnded) this.#socket.end()
      else if (this.#socket.isPaused()) this.#socket.resume()
      return
    }
    let head: RequestHead.RequestHead
    try {
      head = this.#heads.parse(this.#input, end)
    } catch (error) {
      this.#refuse(400, `invalid HTTP request: ${(error as Error).message}`)
      return
    }
    this.#input = this.#input.subarray(end + 4)
    this.#serve(head, now)
  }

  #serve(head: RequestHead.RequestHead, now: number): void {
    this.#phase = 'handling'
    this.#isUnverified = false
    this.#usedAt = now
    this.#record.start(head.method, head.headers.get(RequestId.lowerCaseName), now)
    const exchange = Exchange.newExchange(head)
    const request: RawRequest = {
      method: head.method,
      target: head.target,
      headers: head.headers,
      header: head.header,
      localAddress: this.#localAddress,
      remoteAddress: this.#remoteAddress,
      ends: this.#ends,
      onClose: this.#onClose,
      authenticated: this.#authenticated,
      unverified: this.#unverified,
      id: this.#record.id,
      matched: this.#matched,
      concerns: this.#concerns,
      body: (limit) => this.#bodyOf(exchange, limit),
    }
    // The peer must not see an error of the handler. The error must neither leave the peer waiting nor end the process.
    const fail = (error: unknown): void => {
      exchange.isOver = true
      Exchange.releaseMemory(exchange, this.#body)
      this.#fail(error)
    }
    try {
      const response = this.#options.handle(request)
      if (response instanceof Promise) response.then((late) => this.#answer(exchange, late)).catch(fail)
      else this.#answer(exchange, response)
    } catch (error) {
      fail(error)
    }
  }

  #bodyOf(exchange: Exchange.Exchange, lower = this.#options.limits.bodyBytes): Buffer | Promise<Buffer> {
    // By then the input belongs to the next request.
    if (exchange.isOver) throw new BodyError('body_malformed', 'the request has ended')
    if (exchange.isTaken) throw new TypeError('the request body has already been read')
    exchange.isTaken = true
    const limit = Math.min(this.#options.limits.bodyBytes, lower)
    const whole = this.#wholeBody(exchange.head, limit)
    exchange.isWhole = whole !== undefined
    if (whole !== undefined && whole.length <= this.#options.limits.headerBytes) return whole
    const sender = { holder: this.#holder, isOwner: this.#isOwners, address: this.#remoteAddress }
    const memory = new BodyReservation(this.#bodies, sender)
    exchange.memory = memory
    if (whole !== undefined) return memory.reserveFor(whole)
    exchange.reader = this.#startBody(exchange.head, limit, memory.reserve)
    return this.#takeBody(exchange.reader, memory)
  }

  #answer(exchange: Exchange.Exchange, response: HostResponse): void {
    const { head, reader, isWhole } = exchange
    exchange.isOver = true
    Exchange.releaseMemory(exchange, this.#body)
    if (response === dropConnection || this.#socket.destroyed) this.#drop(response)
    else this.#respond(response, head, isWhole || (reader?.done ?? this.#skipBody(head)))
  }

  /** Returns a body that has already arrived, which is nearly always the case, or an empty one. */
  #wholeBody({ body }: RequestHead.RequestHead, limit: number): Buffer | undefined {
    if (body.type === 'none') return nothing
    if (body.type === 'chunked' || body.bytes > this.#input.length || body.bytes > limit) return undefined
    const input = this.#input
    const isAll = body.bytes === input.length
    this.#input = isAll ? nothing : input.subarray(body.bytes)
    return isAll ? input : input.subarray(0, body.bytes)
  }

  /** A body that is too large is refused before it is sent. */
  #startBody({ body, expectsContinue }: RequestHead.RequestHead, limit: number, reserve: ReserveMemory): BodyReader {
    const reader = body.type === 'length' ? ofLength(body.bytes, limit, reserve) : new ChunkedReader(limit, reserve)
    if (expectsContinue) this.#socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
    return reader
  }

  #takeBody(reader: BodyReader, memory: BodyReservation): Buffer | Promise<Buffer> {
    try {
      this.#dropInput(this.#input.length - reader.push(this.#input).length)
    } catch (error) {
      reader.discard()
      memory.release()
      throw error
    }
    if (reader.done) return reader.take()
    this.#phase = 'body'
    this.#socket.resume()
    const deadline = performance.now() + this.#options.limits.requestMs
    this.#deadline = deadline
    return new Promise((resolve, reject) => {
      this.#body = { reader, deadline, resolve, reject, memory, isAnswered: false }
      memory.begin((error) => this.#failBody(error))
      if (this.#peerEnded) this.#end()
    })
  }

  /** An incomplete line of a chunked body waits in the input for its rest. */
  #readBody(body: Exchange.PendingBody, arrived: Buffer): void {
    const hasRest = this.#input.length > 0
    if (hasRest) this.#keep(arrived)
    const input = hasRest ? this.#input : arrived
    try {
      const rest = body.reader.push(input)
      if (hasRest) this.#dropInput(input.length - rest.length)
      else if (rest.length > 0) this.#keep(rest)
    } catch (error) {
      this.#failBody(error)
      return
    }
    if (!body.reader.done) return
    this.#body = undefined
    if (this.#phase === 'body') this.#phase = 'handling'
    Exchange.finishBody(body)
  }

  #failBody(error: unknown): void {
    // The response may already be in progress.
    if (this.#phase === 'body') this.#phase = 'handling'
    if (this.#body !== undefined) Exchange.failBody(this.#body, error)
    this.#body = undefined
  }

  /** Skips an unread body if it has arrived. Otherwise the connection ends with the response. */
  #skipBody({ body }: RequestHead.RequestHead): boolean {
    if (body.type === 'none') return true
    if (body.type === 'chunked' || body.bytes > this.#input.length) return false
    this.#dropInput(body.bytes)
    return true
  }

  #respond(response: Exclude<HostResponse, symbol>, head: RequestHead.RequestHead, isRead: boolean): void {
    const { status, headers, body } = response
    // A token that was valid no longer is.
    if (status === 401) this.#withdraw()
    const isStream = isSource(body)
    const isDelimited = !isStream || head.isHttp11
    const keepAlive = head.keepAlive && isRead && isDelimited && !this.#isOver() && !this.#options.isStopping()
    const connection = keepAlive
      ? head.headers.has('connection')
        ? keepAliveValue(this.#options.limits)
        : undefined
      : 'close'
    const isHead = head.method === 'HEAD'
    const isAscii = 'isAscii' in response && response.isAscii === true
    const responseHead = { status, headers, connection, isHead, requestId: this.#record.id, isAscii }
    if (isStream) {
      this.#send(responseHead, body, head.isHttp11 ? 'chunked' : 'end', keepAlive)
      return
    }
    this.#closeListeners.clear()
    if (isSecret(response)) {
      const { length } = response.body
      ResponseWriter.writeSecret(this.#socket, responseHead, response.body)
      this.#record.finish(status, length)
      this.#finishResponse(keepAlive)
      return
    }
    if (body !== undefined && body.length > ResponseWriter.largestWhole && ResponseWriter.hasBody(responseHead)) {
      this.#send(responseHead, ResponseWriter.inPieces(body), { bytes: Buffer.byteLength(body) }, keepAlive)
      return
    }
    const bytes = ResponseWriter.write(this.#socket, responseHead, body)
    const now = performance.now()
    this.#record.finish(status, bytes, true, now)
    this.#finishResponse(keepAlive, now)
  }

  #withdraw(): void {
    this.#isOwners = false
    this.#holder = undefined
    this.#options.holders?.withdraw(this)
  }

  #send(head: ResponseWriter.Head, source: BodySource, framing: ResponseWriter.Framing, keepAlive: boolean): void {
    this.#stream(head, source, framing).then(
      () => this.#finishResponse(keepAlive),
      (error) => this.#fail(error),
    )
  }

  async #stream(head: ResponseWriter.Head, source: BodySource, framing: ResponseWriter.Framing): Promise<void> {
    this.#phase = 'streaming'
    // Not `#onClose`, because a peer that only ended its side still gets the whole body.
    const cancel = (): void => source.cancel()
    this.#socket.once('close', cancel)
    let sent = 0
    const onProgress = (bytes: number): void => {
      sent += bytes
      this.#deadline = performance.now() + this.#options.limits.idleMs
    }
    onProgress(0)
    try {
      await ResponseWriter.writeStream(this.#socket, head, source, { framing, onProgress })
      this.#record.finish(head.status, sent, !this.#socket.destroyed)
    } catch (error) {
      this.#record.finish(head.status, sent, false)
      throw error
    }
    this.#socket.off('close', cancel)
    // The socket is destroyed, but 'close' has not been emitted yet. It calls the other listeners.
    if (this.#socket.destroyed) cancel()
    else this.#closeListeners.clear()
  }

  #drop(response: HostResponse): void {
    this.#closeListeners.clear()
    this.#socket.destroy()
    this.#record.finish(response === dropConnection ? 0 : response.status, 0, false)
    if (response === dropConnection) return
    if (isSource(response.body)) response.body.cancel()
    else if (isSecret(response)) response.body.fill(0)
  }

  #fail(error: unknown): void {
    // A body or handler that fails because its peer disconnected is not an error.
    if (!this.#socket.destroyed) this.#options.onError(error)
    this.#socket.destroy()
    this.#record.finish(0, 0, false)
  }

  #finishResponse(keepAlive: boolean, now = performance.now()): void {
    if (this.#socket.destroyed) return
    if (!keepAlive) {
      this.#finish()
      return
    }
    this.#phase = 'idle'
    this.#deadline = now + this.#options.limits.idleMs
    if (this.#socket.writableNeedDrain) {
      // A peer that does not read its responses gets no more of them.
      this.#socket.pause()
      this.#socket.once('drain', () => this.#next())
    } else this.#next()
  }

  #next(): void {
    // Input that has already arrived is served before more is read.
    if (this.#socket.isPaused() && this.#input.length <= this.#options.limits.headerBytes) this.#socket.resume()
    if (this.#input.length === 0) return
    // Deferred, because a peer that sends many requests ahead must not block others.
    const { defer = setImmediate } = this.#options
    this.#isDeferred = true
    const run = this.#isOwners ? setImmediate : defer
    run(() => {
      this.#isDeferred = false
      if (this.#phase === 'idle' && this.#input.length > 0) this.#readHead()
    })
  }

  #isOver(): boolean {
    return this.#peerEnded && this.#input.length === 0
  }

  #refuse(status: number, message: string): void {
    const { headers, body, ...response } = this.#options.errorResponse(status, message)
    // The input is not a request, so nothing about it is known.
    this.#record.start('', undefined, this.#usedAt)
    const head = { status: response.status, headers, connection: 'close', isHead: false, requestId: this.#record.id }
    this.#record.finish(response.status, ResponseWriter.write(this.#socket, head, body))
    this.#finish()
  }

  #finish(): void {
    const { idleMs, requestMs } = this.#options.limits
    this.#phase = 'ending'
    this.#dropInput()
    // The rest of the response is sent first, however slowly the peer reads it.
    this.#deadline = performance.now() + idleMs
    this.#socket.resume()
    this.#socket.end(() => {
      this.#lingerEnd = performance.now() + requestMs
      this.#linger()
    })
  }

  /** Gives a peer that is still sending time to read the response, because closing now would discard it there. */
  #linger(): void {
    this.#deadline = Math.min(performance.now() + this.#options.limits.lingerMs, this.#lingerEnd)
  }

  /** The peer sends no more, but may still be waiting for its response. */
  #end(): void {
    this.#peerEnded = true
    if (this.#body !== undefined) this.#failBody(Exchange.brokenOff())
    const hasMore = this.#phase === 'idle' && this.#input.length > 0
    const isResponding = this.#phase === 'handling' || this.#phase === 'streaming'
    if (!isResponding && !hasMore) this.#socket.end()
    this.#closeListeners.tell()
  }

  #close(): void {
    this.#failBody(Exchange.brokenOff())
    this.#dropInput()
    this.#closeListeners.tell()
  }
}
