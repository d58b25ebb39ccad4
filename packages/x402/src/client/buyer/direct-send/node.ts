/**
 * Sends requests on kept connections, because Node's `fetch` takes several times the processor time of the exchange.
 * Supports only requests that follow no redirect, such as those with a payment, so that little of `fetch` is repeated
 * here.
 */
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import type { ZlibOptions } from 'node:zlib'
import { Server, TransportError, usesPlainFetch } from '@latchkey/http-client'
import { ConnectionPool, Exchange, type ResponseHead, requestHead } from '@latchkey/http-client/connections'
import { paymentSignature } from '@latchkey/x402-wire'
import { asFetched, noteWhole } from '../fetchedResponse.js'
import type { DirectRequest, DirectSend, IsStaleFailure } from './DirectSend.js'

/**
 * Kept as long as `fetch` keeps a connection, or shorter if the server asks for that: most servers close theirs after 5
 * seconds. `fetch` waits for a connection for 10 seconds.
 */
const poolOptions = { maxConnections: Number.POSITIVE_INFINITY, maxIdle: 16, idleMs: 4_000, connectMs: 10_000 }
let pool: ConnectionPool | undefined
/** The time that `fetch` waits for the head of a response, and for each piece of its body. */
const silenceMs = 300_000
/** How often a reader may take that long for a piece. A body that is never read must not occupy a connection forever. */
const maxPauses = 12
/** The bytes buffered before the body is read. A short body that is never read must not occupy its connection. */
const maxUnreadBytes = 64 * 1024
/** The headers that `fetch` sends too. */
const defaultHeaders = Object.entries({
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
})
/** Requests of other methods without a body send a length of 0. */
const methodsWithoutBody = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])
const hopHeaders = ['connection', 'expect', 'host', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']
const statusesWithoutBody = new Set([101, 204, 205, 304])

/** RFC 9110, 9.2.2: these methods may be repeated automatically. */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS'])

export const sendDirectly: DirectSend = (request) => {
  if (!isDirect(request)) return undefined
  const response = exchange(request)
  // A payment that a seller may have taken is repeated with the buyer's secret, which is not available here.
  if (!repeatable.has(request.method) || request.headers.has(paymentSignature)) return response
  return response.catch((error: object) => {
    if (staleFailures.has(error)) return exchange(request, false)
    throw error
  })
}

/** Failures on connections that servers closed without notice after an earlier response. */
const staleFailures = new WeakSet<object>()

export const isStaleFailure: IsStaleFailure = (error) => staleFailures.has(error as object)

function isDirect({ url, redirect, headers }: DirectRequest): boolean {
  if (redirect !== 'manual' || !/^https?:/.test(url) || hopHeaders.some((name) => headers.has(name))) return false
  return usesPlainFetch()
}

/** @param isKept whether to use a kept connection, and to keep it afterwards */
async function exchange(request: DirectRequest, isKept = true): Promise<Response> {
  request.signal?.throwIfAborted()
  pool ??= new ConnectionPool(poolOptions)
  const streamed = new StreamedExchange(request, isKept)
  pool.start(streamed)
  return streamed.result
}

/** An exchange whose response is returned with its head, and whose body may still arrive. */
class StreamedExchange extends Exchange<Response> {
  readonly #url: URL
  readonly #signal: AbortSignal | undefined
  #pauses = 0
  /** The pieces that arrived before the response was returned. */
  #pieces: Buffer[] = []
  /** The rest of the body; null if it is not wanted. */
  #stream: Readable | null | undefined

  constructor({ url: address, method, headers, body, signal }: DirectRequest, isKept: boolean) {
    const url = new URL(address)
    const target = { method, path: `${url.pathname}${url.search}`, authority: url.host, isKept }
    const head = requestHead(target, headersOf(url, method, headers, body))
    super({ server: Server.fromUrl(url), method, head, body, isKept }, signal, silenceMs)
    this.#url = url
    this.#signal = signal
  }

  onHead(head: ResponseHead): void {
    this.restartTimer()
    // By the next tick, the bytes that arrived with the head have been read, so most bodies are complete.
    process.nextTick(() => this.#respond(head))
  }

  onData(piece: Buffer): void {
    this.restartTimer()
    this.#pauses = 0
    if (this.#stream === undefined) this.#pieces.push(piece)
    else if (this.#stream?.push(piece) === false) this.connection?.pause()
  }

  protected onEnd(): void {
    this.#stream?.push(null)
  }

  protected onError(error: unknown): void {
    const cause = error instanceof TransportError ? (error.cause ?? error) : error
    if (this.#stream !== undefined) this.#stream?.destroy(cause instanceof Error ? cause : undefined)
    else if (this.#signal?.aborted) this.reject(error)
    else {
      const failed = failure('fetch failed', cause)
      if (error instanceof TransportError && error.isStale) staleFailures.add(failed)
      this.reject(failed)
    }
  }

  /** A reader that takes its time is not a silent server. */
  protected onLate(): void {
    if (this.connection?.isPaused && ++this.#pauses < maxPauses) this.restartTimer()
    else this.fail(new Error(`nothing arrived for ${silenceMs} ms`))
  }

  #respond(head: ResponseHead): void {
    try {
      const headers = new Headers()
      for (let at = 0; at < head.headers.length; at += 2) headers.append(head.headers[at]!, head.headers[at + 1]!)
      const body = this.#bodyOf(head.status, headers.get('content-encoding'))
      const { status, statusText } = head
      const response = new Response(body, { status, statusText, headers })
      const { href, hash } = this.#url
      const url = hash === '' ? href : href.slice(0, -hash.length)
      const fetched = asFetched(response, { url, redirected: false, type: 'basic' })
      this.resolve(body instanceof Uint8Array ? noteWhole(fetched) : fetched)
    } catch (error) {
      this.fail(error)
      this.reject(failure('fetch failed', error))
    }
  }

  #bodyOf(status: number, encoding: string | null): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null {
    const pieces = this.#pieces
    this.#pieces = []
    if (this.request.method === 'HEAD' || statusesWithoutBody.has(status)) {
      this.#stream = null
      // A body that such a response has nevertheless is not read.
      this.fail(undefined)
      return null
    }
    if (this.isOver && encoding === null) {
      return (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)) as Uint8Array<ArrayBuffer>
    }
    const { Readable } = process.getBuiltinModule('node:stream')
    const stream = new Readable({
      highWaterMark: maxUnreadBytes,
      read: () => this.connection?.resume(),
      destroy: (error, done) => {
        this.fail(error)
        done(error)
      },
    })
    for (const piece of pieces) stream.push(piece)
    if (this.isOver) stream.push(null)
    const body = unpack(stream, encoding)
    this.#stream = stream
    return toStream(body, stream, this.#signal)
  }
}

function headersOf(url: URL, method: string, headers: Headers, body: Uint8Array | undefined): [string, string][] {
  const own = defaultHeaders.filter(([name]) => !headers.has(name))
  if (!headers.has('accept-encoding')) {
    own.push(['accept-encoding', url.protocol === 'https:' ? 'br, gzip, deflate' : 'gzip, deflate'])
  }
  // A length that is not that of the body would make the server wait, or read the next request as the rest.
  for (const header of headers) if (header[0] !== 'content-length') own.push(header)
  const hasLength = body !== undefined || !methodsWithoutBody.has(method)
  if (hasLength) own.push(['content-length', String(body?.length ?? 0)])
  return own
}

function toStream(body: Readable, source: Readable, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  let isOver = false
  return new ReadableStream(
    {
      type: 'bytes',
      start: (controller) => {
        const fail = (error?: Error): void => {
          if (isOver) return
          isOver = true
          controller.error(signal?.aborted ? signal.reason : failure('terminated', error))
        }
        body.on('data', (piece: Buffer) => {
          if (isOver) return
          // Copied, because pieces share their memory.
          controller.enqueue(new Uint8Array(piece))
          if ((controller.desiredSize ?? 0) <= 0) body.pause()
        })
        body.on('end', () => {
          if (isOver) return
          isOver = true
          controller.close()
          controller.byobRequest?.respond(0)
        })
        body.on('error', fail)
        body.on('close', () => fail(new Error('other side closed')))
      },
      pull: () => void body.resume(),
      cancel: () => {
        // Unpacked data may still arrive, but a closed stream accepts none.
        isOver = true
        body.destroy()
        source.destroy()
      },
    },
    { highWaterMark: maxUnreadBytes },
  )
}

function failure(message: string, cause: unknown): TypeError {
  return new TypeError(message, { cause })
}

type Zlib = typeof import('node:zlib')

/** Each encoding takes memory, and the server chooses how many there are. */
const maxEncodings = 5

/**
 * Leaves the bytes unchanged if an encoding is not known.
 *
 * @throws Error for more encodings than `fetch` accepts
 */
function unpack(packed: Readable, header: string | null): Readable {
  if (header === null) return packed
  const names = header.toLowerCase().split(',')
  if (names.length > maxEncodings) throw new Error(`the body has ${names.length} encodings`)
  const zlib = process.getBuiltinModule('node:zlib')
  const decoders = names.map((name) => decoderOf(name.trim(), zlib)).reverse()
  let body = packed
  if (!decoders.every((start) => start !== undefined)) return body
  // Errors propagate to the last stream.
  for (const start of decoders) body = pipeline(body, start(), () => {})
  return body
}

function decoderOf(name: string, zlib: Zlib): (() => Transform) | undefined {
  const flush = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH }
  if (name === 'gzip' || name === 'x-gzip') return () => zlib.createGunzip(flush)
  if (name === 'deflate') return () => new Inflate(zlib, flush)
  if (name === 'br') return () => zlib.createBrotliDecompress()
  return undefined
}

/** Inflates data with or without a zlib header, because servers send both. The first byte shows which it is. */
class Inflate extends Transform {
  readonly #zlib: Zlib
  readonly #options: ZlibOptions
  #inner: Transform | undefined

  constructor(zlib: Zlib, options: ZlibOptions) {
    super()
    this.#zlib = zlib
    this.#options = options
  }

  override _transform(piece: Buffer, _: BufferEncoding, done: TransformCallback): void {
    const inner = this.#inner ?? this.#open(piece[0]!)
    if (inner.write(piece)) done()
    else inner.once('drain', done)
  }

  override _flush(done: TransformCallback): void {
    if (this.#inner === undefined) done()
    else this.#inner.once('end', () => done()).end()
  }

  override _read(size: number): void {
    this.#inner?.resume()
    super._read(size)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inner?.destroy()
    done(error)
  }

  #open(first: number): Transform {
    const { createInflate, createInflateRaw } = this.#zlib
    const inner = (first & 0x0f) === 0x08 ? createInflate(this.#options) : createInflateRaw(this.#options)
    inner.on('data', (piece) => this.push(piece) || inner.pause())
    inner.on('error', (error) => this.destroy(error))
    this.#inner = inner
    return inner
  }
}
