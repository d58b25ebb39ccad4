/**
 * Keeps the answer of a handler from leaving until the payment for it is settled, on the response object of `node:http`
 * that Express and Fastify answer by as well. If it is not settled, nothing of the handler's leaves, no header either.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { paymentResponse } from '../wire/Headers.js'
import type { Admission } from './Gate.js'
import { type HeaderList, json, merged } from './responses.js'

export type BufferOptions = {
  /** Of an answer that is held back; 10 MiB unless told. */
  maxBytes?: number | undefined
  /** Told of what was thrown; as a warning of the process unless told. */
  onError?: ((error: unknown) => void) | undefined
}

export type BufferedResponse = {
  /** The handler threw: not charged, and answered with 500 unless the connection is gone. */
  readonly fail: () => void
}

const defaultMaxBytes = 10 * 1024 * 1024

/** `outer` are headers that were there before the handler was asked; a refusal keeps them. */
export function bufferResponse(
  response: ServerResponse,
  admission: Admission,
  { maxBytes = defaultMaxBytes, onError = warn }: BufferOptions = {},
  outer: OutgoingHttpHeaders = { ...response.getHeaders() },
): BufferedResponse {
  const own = {
    end: response.end.bind(response),
    writeHead: response.writeHead.bind(response),
    addTrailers: response.addTrailers.bind(response),
  }
  const chunks: Buffer[] = []
  const trailers: OutgoingHttpHeaders[] = []
  let bytes = 0
  /** The status at the first piece of the body, after which nobody can change it. */
  let begun: number | undefined
  let isOver = false

  const keep = (chunk: unknown, encoding: unknown): void => {
    begun ??= response.statusCode
    if (chunk === undefined || chunk === null || typeof chunk === 'function') return
    const piece =
      typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : Buffer.from(chunk as Uint8Array)
    bytes += piece.length
    if (bytes <= maxBytes) chunks.push(piece)
  }
  /** The handler's hands stay off it: what it still writes goes nowhere. */
  const open = (): void => {
    Object.assign(response, { writeHead: own.writeHead })
    delete (response as { headersSent?: boolean }).headersSent
  }
  const deliver = (headers: HeaderList): void => {
    open()
    response.statusCode = begun!
    response.removeHeader(paymentResponse)
    addHeaders(response, headers)
    for (const trailer of trailers) own.addTrailers(trailer)
    own.end(Buffer.concat(chunks))
  }
  const refuse = async (answer: Response): Promise<void> => {
    open()
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    for (const [name, value] of Object.entries(outer)) if (value !== undefined) response.setHeader(name, value)
    response.statusMessage = ''
    await send(response, answer, own.end)
  }
  /** Once, whatever happens: what comes first is what counts. */
  const conclude = (work: () => Promise<void>): void => {
    if (isOver) return
    isOver = true
    work().catch((error: unknown) => {
      onError(error)
      response.destroy()
    })
  }
  const giveUp = (why: string): void => {
    conclude(async () => {
      chunks.length = 0
      await admission.cancel()
      await refuse(failure(admission, why))
    })
  }
  const finish = async (): Promise<void> => {
    if (begun! < 400) {
      const result = await admission.settle()
      await ('refusal' in result ? refuse(result.refusal) : deliver(result.headers))
      return
    }
    await admission.cancel()
    deliver(admission.headers)
  }

  Object.defineProperty(response, 'headersSent', { configurable: true, get: () => begun !== undefined })
  Object.assign(response, {
    writeHead: (status: number, ...rest: unknown[]): ServerResponse => {
      response.statusCode = status
      setHead(response, rest)
      begun = status
      return response
    },
    flushHeaders: (): void => {
      begun ??= response.statusCode
    },
    writeEarlyHints: (_: unknown, done?: () => void): void => done?.(),
    writeProcessing: (): void => {},
    addTrailers: (headers: OutgoingHttpHeaders): void => void trailers.push(headers),
    write: (chunk: unknown, encoding?: unknown, done?: unknown): boolean => {
      if (!isOver) keep(chunk, encoding)
      if (bytes > maxBytes) giveUp(`an answer of more than ${maxBytes} bytes cannot be held back; settle first instead`)
      const callback = typeof encoding === 'function' ? encoding : done
      if (typeof callback === 'function') process.nextTick(callback)
      return !isOver
    },
    end: (chunk?: unknown, encoding?: unknown, done?: unknown): ServerResponse => {
      if (isOver) return response
      keep(chunk, encoding)
      const callback = [chunk, encoding, done].find((one) => typeof one === 'function') as (() => void) | undefined
      if (callback !== undefined) response.once('finish', callback)
      if (bytes > maxBytes) giveUp(`an answer of more than ${maxBytes} bytes cannot be held back; settle first instead`)
      // What it had begun to send is not given away with the news that it failed.
      else if (begun! < 400 && response.statusCode >= 400) giveUp('the handler failed after it had begun to answer')
      else conclude(finish)
      return response
    },
  })
  // A peer that goes before the handler has answered is not charged.
  response.once('close', () => conclude(() => admission.cancel()))
  return { fail: () => giveUp('the handler failed') }
}

/** Adds headers to an answer that streams: last, so that the handler cannot take them off. */
export function stamp(response: ServerResponse, headers: HeaderList): void {
  const writeHead = response.writeHead.bind(response)
  response.writeHead = ((status: number, ...rest: unknown[]) => {
    response.statusCode = status
    setHead(response, rest)
    addHeaders(response, headers)
    response.writeHead = writeHead
    return writeHead(status)
  }) as ServerResponse['writeHead']
}

/** Sends an answer of the gate's. */
export async function send(
  response: ServerResponse,
  answer: Response,
  end: ServerResponse['end'] = response.end.bind(response),
): Promise<void> {
  const body = Buffer.from(await answer.arrayBuffer())
  response.statusCode = answer.status
  addHeaders(response, [...answer.headers])
  end(body)
}

export function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : new Error(String(error)))
}

function failure({ headers }: Admission, why: string): Response {
  const response = json(500, { error: `${why}; nothing was charged` })
  for (const [name, value] of headers) response.headers.set(name, value)
  return response
}

function addHeaders(response: ServerResponse, headers: HeaderList): void {
  for (const [name, value] of headers) {
    const before = response.getHeader(name)
    // `no-store` of the gate's own takes the place of whatever was there.
    const isMerged = value !== 'no-store' && before !== undefined
    response.setHeader(name, isMerged ? merged(name, String(before), value) : value)
  }
}

/** What is given to `writeHead` after the status: a message, or headers in one of three forms, or both. */
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
