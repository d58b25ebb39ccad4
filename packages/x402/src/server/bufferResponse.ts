/**
 * Buffers the response of a handler until its payment is settled, on the response object of `node:http` that Express and
 * Fastify use as well. If it is not settled, nothing of the handler's response is sent, not even a header.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { HeldAnswer } from '../store/HeldAnswer.js'
import { paymentResponse } from '../wire/Headers.js'
import type { Admission } from './Admission.js'
import { type HeaderList, json, mergeHeader, sharedCacheHeaders } from './responses.js'
import { warn } from './warn.js'

/** Options of the adapters on `node:http`. */
export type BufferOptions = {
  /**
   * The largest response that is buffered until its payment is settled.
   *
   * @default 10 MiB
   */
  maxBytes?: number | undefined
  /**
   * Called with errors that are not the buyer's fault.
   *
   * @default a warning of the process
   */
  onError?: ((error: unknown) => void) | undefined
}

export type BufferedResponse = {
  /** The handler threw: nothing is charged, and the response is 500 unless the connection is closed. */
  readonly fail: () => void
}

const defaultMaxBytes = 10 * 1024 * 1024

/** `outerHeaders` were set before the handler ran; they are kept if the gate responds instead. */
export function bufferResponse(
  response: ServerResponse,
  admission: Admission,
  { maxBytes = defaultMaxBytes, onError = warn }: BufferOptions = {},
  outerHeaders: OutgoingHttpHeaders = { ...response.getHeaders() },
): BufferedResponse {
  const own = {
    end: response.end.bind(response),
    writeHead: response.writeHead.bind(response),
    addTrailers: response.addTrailers.bind(response),
  }
  const chunks: Buffer[] = []
  const trailers: OutgoingHttpHeaders[] = []
  let bytes = 0
  /** The status when the body started, after which it cannot change. */
  let sentStatus: number | undefined
  let isDone = false

  const buffer = (chunk: unknown, encoding: unknown): void => {
    sentStatus ??= response.statusCode
    if (chunk === undefined || chunk === null || typeof chunk === 'function') return
    const bytesOfChunk =
      typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : Buffer.from(chunk as Uint8Array)
    bytes += bytesOfChunk.length
    if (bytes <= maxBytes) chunks.push(bytesOfChunk)
  }
  /** Restores what is needed to send; what the handler still writes is dropped. */
  const restore = (): void => {
    Object.assign(response, { writeHead: own.writeHead })
    delete (response as { headersSent?: boolean }).headersSent
  }
  const deliver = (headers: HeaderList): void => {
    restore()
    response.statusCode = sentStatus!
    response.removeHeader(paymentResponse)
    addHeaders(response, headers)
    for (const trailer of trailers) own.addTrailers(trailer)
    own.end(Buffer.concat(chunks))
  }
  const answer = (): HeldAnswer => ({
    status: sentStatus!,
    headers: headerList(response),
    body: Buffer.concat(chunks),
  })
  const replace = async (replacement: Response): Promise<void> => {
    restore()
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    for (const [name, value] of Object.entries(outerHeaders)) if (value !== undefined) response.setHeader(name, value)
    response.statusMessage = ''
    await send(response, replacement, own.end)
  }
  /** Runs once: the first conclusion counts. */
  const conclude = (work: () => Promise<void>): void => {
    if (isDone) return
    isDone = true
    work().catch((error: unknown) => {
      onError(error)
      response.destroy()
    })
  }
  const failWith = (why: string): void => {
    conclude(async () => {
      chunks.length = 0
      await admission.cancel()
      await replace(failure(admission, why))
    })
  }
  const finish = async (): Promise<void> => {
    if (sentStatus! < 400) {
      const result = await admission.settle(answer())
      if ('response' in result) return replace(result.response)
      onUndelivered(response, admission.undelivered, onError)
      deliver(result.headers)
      return
    }
    await admission.cancel()
    deliver(admission.headers)
  }

  Object.defineProperty(response, 'headersSent', { configurable: true, get: () => sentStatus !== undefined })
  Object.assign(response, {
    writeHead: (status: number, ...rest: unknown[]): ServerResponse => {
      response.statusCode = status
      setHead(response, rest)
      sentStatus = status
      return response
    },
    flushHeaders: (): void => {
      sentStatus ??= response.statusCode
    },
    writeEarlyHints: (_: unknown, done?: () => void): void => done?.(),
    writeProcessing: (): void => {},
    addTrailers: (headers: OutgoingHttpHeaders): void => void trailers.push(headers),
    write: (chunk: unknown, encoding?: unknown, done?: unknown): boolean => {
      if (!isDone) buffer(chunk, encoding)
      if (bytes > maxBytes) failWith(tooLong(maxBytes))
      const callback = typeof encoding === 'function' ? encoding : done
      if (typeof callback === 'function') process.nextTick(callback)
      return !isDone
    },
    end: (chunk?: unknown, encoding?: unknown, done?: unknown): ServerResponse => {
      if (isDone) return response
      buffer(chunk, encoding)
      const callback = [chunk, encoding, done].find((one) => typeof one === 'function') as (() => void) | undefined
      if (callback !== undefined) response.once('finish', callback)
      if (bytes > maxBytes) failWith(tooLong(maxBytes))
      // The part that it wrote before it failed is not sent.
      else if (sentStatus! < 400 && response.statusCode >= 400)
        failWith('the handler failed after it had started to respond')
      else conclude(finish)
      return response
    },
  })
  // The handler may have done its work, so that its success is settled, and its answer held for the same buyer.
  response.once('close', () => {
    if (!isDone) admission.disconnected().catch(onError)
  })
  return { fail: () => failWith('the handler failed') }
}

/** Adds headers to a response that streams: last, so that the handler cannot remove them. */
export function addHeadersOnSend(
  response: ServerResponse,
  headers: HeaderList,
  onStatus: (status: number) => void = () => {},
): void {
  const writeHead = response.writeHead.bind(response)
  response.writeHead = ((status: number, ...rest: unknown[]) => {
    response.statusCode = status
    setHead(response, rest)
    addHeaders(response, headers)
    response.writeHead = writeHead
    onStatus(status)
    return writeHead(status)
  }) as ServerResponse['writeHead']
}

/** Sends a web `Response`. */
export async function send(
  response: ServerResponse,
  webResponse: Response,
  end: ServerResponse['end'] = response.end.bind(response),
): Promise<void> {
  const body = Buffer.from(await webResponse.arrayBuffer())
  response.statusCode = webResponse.status
  addHeaders(response, [...webResponse.headers])
  end(body)
}

function tooLong(maxBytes: number): string {
  return `a response of more than ${maxBytes} bytes cannot be buffered; use paymentFlow: upfront`
}

/** Calls `undelivered` if the connection closes before all of a response was sent. Call it before the response ends. */
export function onUndelivered(
  response: ServerResponse,
  undelivered: () => Promise<void>,
  onError: (error: unknown) => void,
): void {
  // `finish` comes, and `writableFinished` is true, also where the socket was gone before the end.
  const { socket } = response
  let isSent = false
  const check = (): void => {
    if (!isSent) undelivered().catch(onError)
  }
  if (response.closed || response.destroyed) {
    check()
    return
  }
  response.once('finish', () => {
    isSent = socket?.destroyed === false
  })
  response.once('close', check)
}

function headerList(response: ServerResponse): [string, string][] {
  return Object.entries(response.getHeaders()).flatMap(([name, value]) => {
    if (value === undefined) return []
    return (Array.isArray(value) ? value : [String(value)]).map((one): [string, string] => [name, one])
  })
}

function failure({ headers, settled }: Admission, why: string): Response {
  const charge = settled === undefined ? 'nothing was charged' : 'send the same payment again, it is not charged twice'
  const response = json(500, { error: `${why}; ${charge}` })
  for (const [name, value] of headers) response.headers.set(name, value)
  return response
}

function addHeaders(response: ServerResponse, headers: HeaderList): void {
  const all = [...sharedCacheHeaders(response.getHeaderNames(), headers), ...headers]
  for (const [name, value] of all) {
    const before = response.getHeader(name)
    if (name === 'set-cookie') {
      const cookies = before === undefined ? [] : [before].flat().map(String)
      response.setHeader(name, [...new Set([...cookies, value])])
      continue
    }
    // `no-store` of the gate replaces any other value.
    const isMerged = value !== 'no-store' && before !== undefined
    response.setHeader(name, isMerged ? mergeHeader(name, String(before), value) : value)
  }
}

/** The arguments of `writeHead` after the status: a message, or headers in one of three forms, or both. */
function setHead(response: ServerResponse, rest: readonly unknown[]): void {
  const [message] = rest
  if (typeof message === 'string') response.statusMessage = message
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

function pairsOf(list: readonly string[]): [string, string][] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1]!] as [string, string]] : []))
}

function encodingOf(encoding: unknown): BufferEncoding {
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8'
}
