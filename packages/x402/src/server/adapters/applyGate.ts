/** Applies a gate to a request of `node:http` or `node:http2`. Shared by the adapters for Node, Express and Fastify. */
import type { OutgoingHttpHeaders } from 'node:http'
import { warn } from '../../errors.js'
import type { Admission } from '../exchange/Admission.js'
import { sharePayment } from '../exchange/Payment.js'
import type { Gate } from '../gate/Gate.js'
import { json } from '../gate/responses.js'
import { isUpgradeRequest, type RequestPath } from '../routes/GateRequest.js'
import { depthOf } from '../routes/PaidRoutes.js'
import {
  addHeadersOnSend,
  type BufferedResponse,
  type BufferOptions,
  bufferResponse,
  onUndelivered,
} from './bufferResponse.js'
import type { NodeRequest, NodeResponse } from './ResponseCapture.js'
import { StreamedResponse } from './StreamedResponse.js'
import { hasPassed, notePassed, webRequest } from './webRequest.js'

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
