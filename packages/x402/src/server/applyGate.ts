/** Applies a gate to a request of `node:http`: what the adapters for Node, Express and Fastify share. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import {
  addHeadersOnSend,
  type BufferedResponse,
  type BufferOptions,
  bufferResponse,
  onUndelivered,
} from './bufferResponse.js'
import type { Gate } from './Gate.js'
import { json } from './responses.js'
import { warn } from './warn.js'
import { webRequest } from './webRequest.js'

export type GatedRequest = {
  gate: Gate
  request: IncomingMessage
  response: ServerResponse
  /** The path that the router uses, then every other form of it. */
  paths: readonly string[]
  options: BufferOptions
  /** Headers that are not on the response yet, and are sent whatever the handler does. */
  outerHeaders?: OutgoingHttpHeaders | undefined
}

export type GateResult =
  /** The handler runs; its response is buffered if `buffered` is set. */
  | { readonly type: 'next'; readonly buffered: BufferedResponse | undefined }
  /** To be sent instead of the handler's. */
  | { readonly type: 'response'; readonly response: Response; readonly undelivered?: (() => Promise<void>) | undefined }
  /** The client has disconnected. */
  | { readonly type: 'closed' }

export async function applyGate(gated: GatedRequest): Promise<GateResult> {
  const { gate, request, response, paths, options, outerHeaders } = gated
  const closed = new AbortController()
  const onClose = (): void => closed.abort()
  response.once('close', onClose)
  try {
    let web: Request
    try {
      web = webRequest(request, paths[0]!, closed.signal)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      return { type: 'response', response: json(400, { error: 'the request has no valid URL' }) }
    }
    const decision = await gate.decide(web, paths.map(pathOf), request.socket.remoteAddress)
    if (decision.type === 'free') return { type: 'next', buffered: undefined }
    const { onError = warn } = options
    if (decision.type === 'response') {
      if (decision.undelivered !== undefined) onUndelivered(response, decision.undelivered, onError)
      return closed.signal.aborted ? { type: 'closed' } : decision
    }
    const { admission } = decision
    // The handler has not begun.
    if (closed.signal.aborted) {
      await admission.cancel()
      return { type: 'closed' }
    }
    if (!admission.isStreamed) {
      return { type: 'next', buffered: bufferResponse(response, admission, options, outerHeaders) }
    }
    addHeadersOnSend(response, admission.headers, (status) => {
      if (status >= 400) admission.cancel().catch(onError)
    })
    return { type: 'next', buffered: undefined }
  } finally {
    response.off('close', onClose)
  }
}

/** The path of a target, which may be a whole URL. */
function pathOf(target: string): string {
  return target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') || '/'
}
