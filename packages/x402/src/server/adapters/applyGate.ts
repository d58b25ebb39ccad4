/** Applies a gate to a request of `node:http` or `node:http2`. Shared by the adapters for Node, Express and Fastify. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { paymentResponse } from '@latchkey/x402-wire'
import { warn } from '../../errors.js'
import type { Admission } from '../exchange/Admission.js'
import { hasPassed, notePassed, sharePayment } from '../exchange/Payment.js'
import { overridesHeader, withoutOverrides } from '../exchange/Usage.js'
import type { Gate } from '../gate/Gate.js'
import { type HeaderList, json } from '../gate/responses.js'
import { isUpgradeRequest, type RequestPath } from '../routes/GateRequest.js'
import { depthOf } from '../routes/RouteTable.js'
import {
  addHeaders,
  addHeadersOnSend,
  endResponse,
  type NodeRequest,
  type NodeResponse,
  onUndelivered,
  readResponse,
  sendWhole,
  setHeaders,
  setMessage,
  webRequest,
} from './NodeMessage.js'
import { watchPipelined } from './pipelined.js'
import { type CapturedAnswer, ResponseCapture } from './ResponseCapture.js'
import { StreamedResponse } from './StreamedResponse.js'
import { sentHeaders } from './sentHeaders.js'

export type GatedRequest = {
  gate: Gate
  request: NodeRequest
  response: NodeResponse
  path: RequestPath
  options: BufferOptions
  /** Headers that are not on the response yet, and are always sent. */
  outerHeaders?: OutgoingHttpHeaders | undefined
  /** Whether a WebSocket is already open. The status of the response then does not show how the socket was used. */
  isOpen?: boolean | undefined
}

export type GateResult =
  /** The handler runs. Its response is buffered if `buffered` is set. */
  | { readonly type: 'next'; readonly buffered: BufferedResponse | undefined; readonly run?: Admission['run'] }
  /** Send this response instead of the handler's. */
  | {
      readonly type: 'response'
      readonly response: Response
      /** Whether this is the complete response that the handler created for an earlier request. */
      readonly isHeld: boolean
    }
  /** The client has disconnected. */
  | { readonly type: 'closed' }

export async function applyGate(gated: GatedRequest): Promise<GateResult> {
  const { gate, request, response, path, options, outerHeaders, isOpen = false } = gated
  const target = `${request.method} ${path.path}`
  if (hasPassed(request, gate, target)) return { type: 'next', buffered: undefined }
  const closed = new AbortController()
  const onClose = (): void => closed.abort()
  watchPipelined(response)
  response.once('close', onClose)
  try {
    const web = urlRequest(request, path.path, closed.signal)
    if (web === undefined) {
      return { type: 'response', response: json(400, { error: 'the request has no valid URL' }), isHeld: false }
    }
    const decision = await gate.decide(web, path, request.socket?.remoteAddress)
    sharePayment(web, [request])
    if (decision.type === 'free') {
      if (decision.granted !== undefined) {
        notePassed(request, gate, target)
        addHeadersOnSend(response, decision.granted)
      }
      return { type: 'next', buffered: undefined }
    }
    const { onError = warn } = options
    if (decision.type === 'response') {
      if (decision.undelivered !== undefined) onUndelivered(response, decision.undelivered, onError)
      if (closed.signal.aborted) return { type: 'closed' }
      return { type: 'response', response: decision.response, isHeld: decision.undelivered !== undefined }
    }
    const { admission } = decision
    // The handler has not begun.
    if (closed.signal.aborted) {
      await admission.cancel()
      return { type: 'closed' }
    }
    notePassed(request, gate, target)
    if (!admission.isStreamed) {
      const buffered = bufferResponse(request, response, admission, options, outerHeaders)
      return { type: 'next', buffered, run: admission.run }
    }
    if (isUpgradeRequest(web)) {
      addHeadersOnSend(response, admission.headers, (status) => {
        if (status >= 400 && !isOpen) admission.cancel().catch(onError)
      })
    } else {
      new StreamedResponse({ request, response, admission, onError })
    }
    return { type: 'next', buffered: undefined, run: admission.run }
  } finally {
    response.off('close', onClose)
  }
}

/** The properties that Express and similar programs set on a request that they pass to a mounted app. */
type MountedRequest = { readonly url?: string | undefined; readonly baseUrl?: string; readonly originalUrl?: string }

/** The path of a request, even if a program has removed a prefix from its URL or changed it. */
export function mountedPath({ url = '/', baseUrl = '', originalUrl = url }: MountedRequest): RequestPath {
  // The path as the router has it now, and as it was sent.
  const target = url.startsWith('/') ? `${baseUrl}${url}` : url
  const [path, sent] = [`${baseUrl}${pathOf(url)}`, pathOf(originalUrl)]
  return { path, depth: depthOf(baseUrl), sent, targets: [target, originalUrl] }
}

/** The path of a target, which may be a whole URL. */
export function pathOf(target: string): string {
  return target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i, '') || '/'
}

function urlRequest(request: NodeRequest, path: string, signal: AbortSignal): Request | undefined {
  try {
    return webRequest(request, path, signal)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

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

/**
 * Buffers the response of a handler until its payment is settled, on the response objects of `node:http` and
 * `node:http2`, which Express and Fastify use as well. If the payment is not settled, nothing of the handler's response
 * is sent, not even a header. `outerHeaders` were set before the handler ran. These headers are kept if the gate responds
 * instead.
 */
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
      deliver(answer, sentHeaders(admission))
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

function sendAnswer(response: ServerResponse, answer: CapturedAnswer, headers: HeaderList): void {
  response.statusCode = answer.status
  if (answer.message !== undefined) setMessage(response, answer.message)
  setHeaders(response, answer.headers)
  response.removeHeader(paymentResponse)
  response.removeHeader(overridesHeader)
  addHeaders(response, headers)
  for (const trailer of answer.trailers) response.addTrailers(withoutOverrides(trailer))
  endResponse(response, answer.body)
}

function headerList({ headers }: CapturedAnswer): [string, string][] {
  return headers.flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)]))
}

function failure({ headers, settled }: Admission, why: string): Response {
  const charge = settled === undefined ? 'nothing was charged' : 'send the same payment again: it is not charged twice'
  return json(500, { error: `${why}; ${charge}` }, headers)
}
