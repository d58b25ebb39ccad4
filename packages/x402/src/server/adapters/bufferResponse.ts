/**
 * Buffers the response of a handler until its payment is settled, on the response objects of `node:http` and
 * `node:http2`, which Express and Fastify use as well. If the payment is not settled, nothing of the handler's response
 * is sent, not even a header.
 */
import { isAscii } from 'node:buffer'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { paymentResponse } from '@latchkey/x402-wire'
import { warn } from '../../errors.js'
import type { Admission } from '../exchange/Admission.js'
import { overridesHeader } from '../exchange/Usage.js'
import { type HeaderList, json } from '../gate/responses.js'
import { Overlay, withMembers } from './Overlay.js'
import {
  addHeaders,
  type CapturedAnswer,
  headersOf,
  type NodeRequest,
  type NodeResponse,
  ResponseCapture,
  setHead,
  setHeaders,
  setMessage,
} from './ResponseCapture.js'

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
   * @default a process warning
   */
  onError?: ((error: unknown) => void) | undefined
}

export type BufferedResponse = {
  /**
   * Call it if the handler threw. Nothing is charged and the response is 500, unless the handler had already ended its
   * response.
   */
  readonly fail: () => void
}

const defaultMaxBytes = 10 * 1024 * 1024

/** `outerHeaders` were set before the handler ran. These headers are kept if the gate responds instead. */
export function bufferResponse(
  request: NodeRequest,
  response: NodeResponse,
  admission: Admission,
  { maxBytes = defaultMaxBytes, onError = warn }: BufferOptions = {},
  outerHeaders: OutgoingHttpHeaders = { ...response.getHeaders() },
): BufferedResponse {
  let isConcluded = false
  const conclude = (work: Promise<void>): void => {
    isConcluded = true
    work.catch((error: unknown) => {
      onError(error)
      capture.abort()
    })
  }
  const deliver = (answer: CapturedAnswer, headers: HeaderList, undelivered?: () => Promise<void>): void =>
    capture.release((own) => {
      if (undelivered !== undefined) onUndelivered(own, undelivered, onError)
      sendAnswer(own, answer, headers)
    })
  const replace = async (replacement: Response): Promise<void> => {
    const whole = await readResponse(replacement)
    capture.release((own) => {
      setHeaders(
        own,
        Object.entries(outerHeaders).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      )
      setMessage(own, '')
      sendWhole(own, whole)
    })
  }
  const finish = async (answer: CapturedAnswer): Promise<void> => {
    if (answer.status >= 400) {
      await admission.cancel()
      deliver(answer, admission.headers)
      return
    }
    const { status, body } = answer
    const result = await admission.settle({ status, headers: headerList(answer), body })
    if ('response' in result) return replace(result.response)
    deliver(answer, result.headers, admission.undelivered)
  }
  const fail = async (why: string): Promise<void> => {
    await admission.cancel()
    await replace(failure(admission, why))
  }
  const capture = new ResponseCapture({
    request,
    response,
    maxBytes,
    onEnd: (answer) => conclude(finish(answer)),
    onFailure: (why) => conclude(fail(why)),
    onClose: () => void giveUp().catch(onError),
  })
  // The handler may have done its work, so its success is settled, and its answer held for the same buyer.
  const giveUp = async (): Promise<void> => {
    if (!isConcluded) await admission.disconnected()
    if (!isConcluded) capture.abort()
  }
  return { fail: () => capture.fail('the handler failed') }
}

/**
 * Adds headers to a streamed response last, so that the handler cannot remove them. `onHead` gets the handler's own
 * headers.
 */
export function addHeadersOnSend(
  nodeResponse: NodeResponse,
  headers: HeaderList,
  onHead: (status: number, headers: HeaderList) => void = () => {},
): void {
  const response = nodeResponse as ServerResponse
  const own = { writeHead: response.writeHead.bind(response), end: response.end.bind(response) }
  const add = (): void => {
    overlay.remove()
    // Programs around the handler may change the headers from here on, for example to compress the body.
    const own = headersOf(response)
    addHeaders(response, headers)
    onHead(response.statusCode, own)
  }
  const writeHead = (status: number, ...rest: unknown[]): ServerResponse => {
    response.statusCode = status
    setHead(response, rest)
    add()
    return own.writeHead(status)
  }
  // With HTTP/2, a response without a body ends without `writeHead`.
  const end = (...args: never[]): ServerResponse => {
    add()
    return own.end(...args)
  }
  const overlay = new Overlay(response, {
    writeHead: { value: writeHead, writable: true },
    end: { value: end, writable: true },
  })
}

/**
 * A framework that gets an error closes the connection. A response that the handler has ended, and the buyer has paid
 * for, is sent first. `onCut` is called if the handler has not ended.
 */
export function sendBeforeDestroy(request: NodeRequest, response: NodeResponse, onCut: () => void): void {
  const { socket } = request
  const destroy = (error?: Error): void => {
    const { writableEnded, writableFinished } = response as ServerResponse
    if (!writableEnded) onCut()
    if (!writableEnded || writableFinished) socket.destroy(error)
    else response.once('finish', () => socket.destroy(error))
  }
  const overlay = new Overlay(request, { socket: { value: withMembers(socket, { destroy }), writable: true } })
  response.once('close', () => overlay.remove())
}

/** RFC 9113, 7: INTERNAL_ERROR. */
const internalError = 2

/** Breaks off an unfinished response, so that its client does not take a part for the whole. */
export function cutResponse(response: NodeResponse, destroy: () => void): void {
  // A destroyed HTTP/2 stream without an error ends as if it were complete.
  if ('stream' in response) response.stream.close(internalError)
  else destroy()
}

/** Sends a web `Response`. */
export async function send(response: NodeResponse, webResponse: Response): Promise<void> {
  sendWhole(response as ServerResponse, await readResponse(webResponse))
}

/**
 * Calls `undelivered` if the connection closes before the whole response was sent. Call it before the response ends.
 */
export function onUndelivered(
  response: NodeResponse,
  undelivered: () => Promise<void>,
  onError: (error: unknown) => void,
): void {
  // With HTTP/2, the response emits `finish` even if its stream was reset.
  const output = 'stream' in response ? response.stream : response
  // `finish` is emitted, and `writableFinished` is true, even if the socket was gone before the end. Uses the request's
  // socket, because the response to a pipelined request has none yet.
  const { socket } = response.req
  let isSent = false
  const check = (): void => {
    if (!isSent) undelivered().catch(onError)
  }
  if (output.closed || output.destroyed) {
    check()
    return
  }
  output.once('finish', () => {
    isSent = 'stream' in response ? !response.stream.aborted : socket?.destroyed === false
  })
  output.once('close', check)
}

type WholeResponse = { status: number; headers: HeaderList; body: Buffer }

async function readResponse(response: Response): Promise<WholeResponse> {
  // Read before the body: if `Response` is replaced, reading the body loses headers that were set later.
  const { status } = response
  const headers = [...response.headers]
  return { status, headers, body: Buffer.from(await response.arrayBuffer()) }
}

function sendWhole(response: ServerResponse, { status, headers, body }: WholeResponse): void {
  response.statusCode = status
  addHeaders(response, headers)
  end(response, body)
}

function sendAnswer(response: ServerResponse, answer: CapturedAnswer, headers: HeaderList): void {
  response.statusCode = answer.status
  if (answer.message !== undefined) setMessage(response, answer.message)
  setHeaders(response, answer.headers)
  response.removeHeader(paymentResponse)
  response.removeHeader(overridesHeader)
  addHeaders(response, headers)
  for (const trailer of answer.trailers) response.addTrailers(trailer)
  end(response, answer.body)
}

/** A short body is sent in one write with the head, which Node does only for strings. */
const maxJoinedBytes = 16 * 1024

/** Only for ASCII, because some hosts have their own sockets and responses, which treat every string as UTF-8. */
function end(response: ServerResponse, body: Buffer): void {
  if (body.length > maxJoinedBytes || !isAscii(body)) response.end(body)
  else response.end(body.toString('latin1'), 'latin1')
}

function headerList({ headers }: CapturedAnswer): [string, string][] {
  return headers.flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)]))
}

function failure({ headers, settled }: Admission, why: string): Response {
  const charge = settled === undefined ? 'nothing was charged' : 'send the same payment again: it is not charged twice'
  return json(500, { error: `${why}; ${charge}` }, headers)
}
