/**
 * The response of a handler with a web `Request` and `Response`, after its payment is settled. Shared by the adapters for
 * Hono and for fetch handlers.
 */

import { Bytes } from '@latchkey/algorand'
import { paymentResponse } from '@latchkey/x402-wire'
import { cutDirect, watchDelivery } from '#node-response'
import { warn } from '../../errors.js'
import { type Admission, isSentOnce } from '../exchange/Admission.js'
import { invalidCharge, overridesHeader, UsageError } from '../exchange/Usage.js'
import { addTo, changed, type HeaderList, json, remade, tooLate } from '../gate/responses.js'
import type { NodeBindings } from './honoContext.js'
import type { DirectOutput } from './node-response/NodeResponses.js'
import { sentHeaders } from './sentHeaders.js'
import { webStream } from './webStream.js'

/** The largest response that is buffered by default. */
export const defaultMaxBytes = 10 * 1024 * 1024

/** A failed handler's response, without its own receipt. */
export function failedResponse(admission: Admission, response: Response): Response {
  return changed(response, (own) => {
    own.delete(paymentResponse)
    own.delete(overridesHeader)
    addTo(own, sentHeaders(admission))
  })
}

/** The response to a request that a hook let through. One that carries a connection cannot be changed. */
export function grantedResponse(headers: HeaderList, response: Response): Response {
  return response.status === 101 ? response : changed(response, (own) => addTo(own, headers))
}

export type PaidOptions = {
  readonly maxBytes: number
  readonly outerHeaders: Headers
  readonly signal: AbortSignal
  /** Signals to a streaming handler that no more output is needed. */
  readonly givenUp: AbortController
  readonly direct: DirectOutput | undefined
  readonly bindings: NodeBindings | undefined
  readonly method: string
}

/** The handler's response after its payment is settled, or the gate's response. */
export async function paidResponse(admission: Admission, response: Response, options: PaidOptions): Promise<Response> {
  const { maxBytes, outerHeaders, signal, direct, bindings } = options
  const withOuterHeaders = (replacement: Response): Response =>
    changed(replacement, (own) => {
      for (const [name, value] of outerHeaders) if (!replacement.headers.has(name)) own.append(name, value)
    })
  if (admission.isStreamed) return streamed(admission, response, options)
  // Copied before the body is read: see `changed`.
  const headers = new Headers(response.headers)
  // Buffered responses are read to their end first, because they may fail until then.
  const body = await readBody(admission, response, maxBytes, signal)
  const why = direct?.remove() ? 'the handler wrote to the Node response, which cannot be buffered' : body
  if (typeof why === 'string') {
    await admission.cancel()
    const charge =
      admission.settled === undefined ? 'nothing was charged' : 'send the same payment again: it is not charged twice'
    return withOuterHeaders(json(500, { error: `${why}; ${charge}` }, admission.headers))
  }
  const { status } = response
  const result = await admission.settle({ status, headers: [...headers], body: why ?? new Uint8Array() })
  if ('response' in result) return withOuterHeaders(result.response)
  if (signal.aborted) await admission.undelivered()
  else watchDelivery(bindings, admission.undelivered)
  headers.delete(overridesHeader)
  addTo(headers, result.headers)
  return remade(response, why, headers)
}

type StreamOptions = Pick<PaidOptions, 'signal' | 'givenUp' | 'bindings' | 'method'>

function streamed(admission: Admission, response: Response, options: StreamOptions): Response {
  const { signal, givenUp, bindings, method } = options
  // The response carries a connection and cannot be recreated.
  const { webSocket } = response as { webSocket?: unknown }
  if (response.status === 101 || (webSocket !== undefined && webSocket !== null)) return response
  if (admission.cut?.aborted) {
    void response.body?.cancel().catch(() => {})
    return tooLate(true)
  }
  const { status } = response
  const headers = new Headers(response.headers)
  const own = [...headers]
  try {
    admission.noteHeaders?.(own)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    warn(error)
    givenUp.abort()
    void response.body?.cancel().catch(() => {})
    admission.cancel().catch(warn)
    return json(500, invalidCharge, admission.headers)
  }
  if (admission.isMetered) headers.delete(overridesHeader)
  addTo(headers, sentHeaders(admission))
  let onOver: (isSettled: boolean) => void = () => {}
  const over = new Promise<boolean>((resolve) => {
    onOver = resolve
  })
  const settle = (body: Uint8Array<ArrayBuffer> | undefined): void => {
    const held = body === undefined ? undefined : { status, headers: own, body }
    admission.settle(held).then(() => onOver(true), warn)
  }
  const cancel = (): void => {
    givenUp.abort()
    onOver(false)
    admission.cancel().catch(warn)
  }
  watchDelivery(bindings, async () => {
    if (await over) await admission.undelivered()
  })
  if (response.body === null) {
    settle(new Uint8Array())
    return remade(response, null, headers)
  }
  // A handler that gets the signal may break off before the body is cancelled. It has not failed then.
  const hasLeft = (isGone: boolean): boolean => isSentOnce(admission) && (isGone || signal.aborted)
  const length = method === 'HEAD' ? null : headers.get('Content-Length')
  const stream = webStream(response.body, {
    onEnd: (copy, bytes, client) => {
      const isWhole = length === null || Number(length) === bytes
      // A handler that sees that its client has left may end a response early, which is no answer to repeat.
      if (hasLeft(client.hasLeft || (!isWhole && client.wasUnread))) settle(undefined)
      else if (isWhole) settle(copy)
      else cancel()
    },
    onFailure: (isUnread) => {
      if (hasLeft(isUnread)) settle(undefined)
      else cancel()
      // If a body fails at its start, `@hono/node-server` sends the part as if it were complete.
      cutDirect(bindings)
    },
    onLeave: async () => {
      if (!isSentOnce(admission)) await admission.disconnected()
    },
  })
  admission.cut?.addEventListener(
    'abort',
    () => {
      onOver(false)
      stream.cut()
      // A client that reads slowly would otherwise get what the server has buffered.
      cutDirect(bindings)
    },
    { once: true },
  )
  // Some servers read the body of a response to HEAD, others do not.
  if (method === 'HEAD') {
    stream.drain()
    return remade(response, null, headers)
  }
  if (!signal.aborted) return remade(response, stream.body, headers)
  // The client has disconnected, so nothing was sent and nothing will be.
  stream.leave()
  return remade(response, null, headers)
}

/**
 * Returns the body, or the reason why there is none: it is too long, it failed, or its time is up and the client has
 * disconnected.
 */
async function readBody(
  admission: Admission,
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | null | string> {
  if (response.body === null) return null
  const reader = response.body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  let isStopped = false
  // The handler may have done its work, so its success is settled although the client has disconnected.
  const onAbort = async (): Promise<void> => {
    await admission.disconnected()
    isStopped = true
    stop()
  }
  if (signal.aborted) void onAbort()
  else signal.addEventListener('abort', onAbort)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isStopped) return 'the client has disconnected'
      if (done) return new Uint8Array(Bytes.concat(chunks))
      bytes += value.length
      if (bytes > maxBytes) {
        stop()
        return `a response of more than ${maxBytes} bytes cannot be buffered; use paymentFlow: upfront`
      }
      chunks.push(value)
    }
  } catch {
    return 'the response failed before it was complete'
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
