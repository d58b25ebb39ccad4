/** The gate in front of a listener of `node:http`. */
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http'
import { type BufferedResponse, type BufferOptions, bufferResponse, send, stamp, warn } from './bufferResponse.js'
import type { Gate } from './Gate.js'
import { json } from './responses.js'
import { webRequest } from './webRequest.js'

/** What the listener throws, or what its promise rejects with, is answered with 500. */
export function paymentGate(gate: Gate, listener: RequestListener, options: BufferOptions = {}): RequestListener {
  const { onError = warn } = options
  return async (request, response) => {
    let held: BufferedResponse | undefined
    try {
      const passage = await guard({ gate, request, response, paths: [request.url ?? '/'], options })
      if (passage.type === 'gone') return
      if (passage.type === 'answer') {
        await send(response, passage.response)
        return
      }
      held = passage.held
      await (listener(request as never, response as never) as unknown)
    } catch (error) {
      onError(error)
      if (held !== undefined) held.fail()
      else if (response.headersSent) response.destroy()
      else await send(response, json(500, { error: 'the handler failed' }))
    }
  }
}

export type Guarding = {
  gate: Gate
  request: IncomingMessage
  response: ServerResponse
  /** What was asked for: what the router goes by, then everything else it may be called. */
  paths: readonly string[]
  options: BufferOptions
  /** Headers that are not on the response yet, and are there whatever the handler does. */
  outer?: OutgoingHttpHeaders | undefined
}

export type Passage =
  /** The handler is to run; its answer is held back if it is `held`. */
  | { readonly type: 'pass'; readonly held: BufferedResponse | undefined }
  /** To be sent instead. */
  | { readonly type: 'answer'; readonly response: Response }
  /** Nobody is there to be answered. */
  | { readonly type: 'gone' }

export async function guard({ gate, request, response, paths, options, outer }: Guarding): Promise<Passage> {
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  response.once('close', onClose)
  try {
    let asked: Request
    try {
      asked = webRequest(request, paths[0]!, gone.signal)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      return { type: 'answer', response: json(400, { error: 'this is not a request that can be served' }) }
    }
    const decision = await gate.decide(asked, paths.map(pathOf))
    if (decision.type === 'free') return { type: 'pass', held: undefined }
    if (decision.type === 'answer') return gone.signal.aborted ? { type: 'gone' } : decision
    const { admission } = decision
    if (admission.settled === undefined) {
      if (!gone.signal.aborted) return { type: 'pass', held: bufferResponse(response, admission, options, outer) }
      await admission.cancel()
      return { type: 'gone' }
    }
    const result = await admission.settle()
    if ('headers' in result) stamp(response, result.headers)
    return { type: 'pass', held: undefined }
  } finally {
    response.off('close', onClose)
  }
}

/** Of a target that may be a whole address. */
function pathOf(target: string): string {
  return target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') || '/'
}
