/** The gate as a Hono middleware, for every runtime of Hono. */

import { Bytes } from '@latchkey/algorand'
import { paymentResponse } from '@latchkey/x402-wire'
import { captureDirect, cutDirect, watchDelivery } from '#node-response'
import { warn } from '../../errors.js'
import type { Admission } from '../exchange/Admission.js'
import { sharePayment } from '../exchange/Payment.js'
import { overridesHeader } from '../exchange/Usage.js'
import type { Gate } from '../gate/Gate.js'
import { addTo, changed, json, remade } from '../gate/responses.js'
import { isUpgradeRequest } from '../routes/GateRequest.js'
import { type HonoContext, type NodeBindings, nodeBindings, pathOfContext } from './honoContext.js'
import type { DirectOutput } from './node-response/NodeResponses.js'
import { Overlay } from './Overlay.js'
import { checkGate, hasPassed, notePassed, tryNewRequest } from './webRequest.js'
import { webStream } from './webStream.js'

export { type Payment, paymentOf } from '../exchange/Payment.js'
export type { HonoContext } from './honoContext.js'
/** A Hono middleware. */
export type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>

/** Options of {@link paymentGate}. */
export type HonoGateOptions = {
  /**
   * The largest response that is buffered until its payment is settled.
   *
   * @default 10 MiB
   */
  maxBytes?: number | undefined
}

const defaultMaxBytes = 10 * 1024 * 1024

/**
 * The gate as a Hono middleware. Keys are whole paths, or relative to where the gate is mounted: by `route()`,
 * `basePath()`, `use(path)`, and on Node by `mount()`. On other runtimes, an app mounted by `mount()` needs the gate's
 * option `basePath`. WebSockets are settled before their handlers run.
 *
 * @throws OptionsError if `gate` is not a gate
 * @example
 * const app = new Hono().use(paymentGate(gate)).get('/weather', (context) => context.json({ weather: 'sunny' }))
 */
export function paymentGate(gate: Gate, { maxBytes = defaultMaxBytes }: HonoGateOptions = {}): HonoMiddleware {
  checkGate(gate)
  return async (context, next) => {
    const { raw } = context.req
    const { path, url } = pathOfContext(context)
    const bindings = nodeBindings(context)
    const { method, headers, signal } = raw
    const target = `${method} ${path.path} ${url}`
    if (hasPassed(raw, gate, target)) {
      await next()
      return undefined
    }
    const request = tryNewRequest(url, { method, headers, signal })
    if (request === undefined) return json(400, { error: 'the request has no valid URL' })
    const decision = await gate.decide(request, path, bindings?.incoming.socket?.remoteAddress)
    // Other middleware may replace the request, for example to limit bodies. The context stays.
    sharePayment(request, [raw, context, bindings?.incoming])
    if (decision.type === 'free') {
      await next()
      return undefined
    }
    // Headers set before the handler runs. Hono adds them to any response returned from here.
    const outerHeaders = new Headers(context.res.headers)
    if (decision.type === 'response') {
      watchDelivery(bindings, decision.undelivered)
      return decision.response
    }
    const { admission } = decision
    notePassed(raw, gate, target)
    // A handler may write to Node's response directly, bypassing the app.
    const direct = admission.isStreamed ? undefined : captureDirect(bindings)
    // The adapter cannot tell whether the connection was opened, and a payment opens only one.
    const isUpgrade = isUpgradeRequest(raw)
    const cancel = async (): Promise<void> => (isUpgrade ? undefined : admission.cancel())
    const isHeld = admission.isStreamed && !isSentOnce(admission) && !isUpgrade
    const givenUp = new AbortController()
    // A handler that stops when its client leaves would otherwise be paid for a partial response.
    if (isHeld) new Overlay(raw, { signal: { get: () => givenUp.signal } })
    // A handler that never responds is abandoned when its time is up.
    const onAbort = (): void => void admission.disconnected().then(() => givenUp.abort(signal.reason), warn)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await (admission.run === undefined ? next() : admission.run(next))
    } catch (error) {
      direct?.remove()
      await cancel()
      throw error
    }
    const isFailure = context.error !== undefined || context.res.status >= 400
    if (isFailure) {
      direct?.remove()
      await cancel()
      replace(context, failedResponse(admission, context.res))
      return undefined
    }
    const options = { maxBytes, outerHeaders, signal, givenUp, direct, bindings, method }
    const response = await paidResponse(admission, context.res, options)
    replace(context, response)
    return undefined
  }
}

function failedResponse({ headers }: Admission, response: Response): Response {
  return changed(response, (own) => {
    own.delete(paymentResponse)
    own.delete(overridesHeader)
    addTo(own, headers)
  })
}

type PaidOptions = {
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
async function paidResponse(admission: Admission, response: Response, options: PaidOptions): Promise<Response> {
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

/** A response to a pass, and one that is charged by usage, is not held for a client that has left. */
function isSentOnce({ pass, isMetered }: Admission): boolean {
  return pass !== undefined || isMetered === true
}

type StreamOptions = Pick<PaidOptions, 'signal' | 'givenUp' | 'bindings' | 'method'>

function streamed(admission: Admission, response: Response, options: StreamOptions): Response {
  const { signal, givenUp, bindings, method } = options
  // The response carries a connection and cannot be recreated.
  const { webSocket } = response as { webSocket?: unknown }
  if (response.status === 101 || (webSocket !== undefined && webSocket !== null)) return response
  const { status } = response
  const headers = new Headers(response.headers)
  const own = [...headers]
  admission.noteHeaders?.(own)
  if (admission.isMetered) headers.delete(overridesHeader)
  addTo(headers, admission.headers)
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
  const length = method === 'HEAD' ? null : headers.get('Content-Length')
  const stream = webStream(response.body, {
    onEnd: (copy, bytes) => {
      if (length === null || Number(length) === bytes) settle(copy)
      else cancel()
    },
    onFailure: (isGone) => {
      if (isGone && isSentOnce(admission)) {
        settle(undefined)
        return
      }
      cancel()
      // If a body fails at its start, `@hono/node-server` sends the part as if it were complete.
      cutDirect(bindings)
    },
    onLeave: async () => {
      if (!isSentOnce(admission)) await admission.disconnected()
    },
  })
  // Hono does not read the body of a response to HEAD.
  if (method === 'HEAD') stream.drain()
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

/** Hono merges the headers of the old response into the new one, unless the old one is removed first. */
function replace(context: HonoContext, response: Response): void {
  context.res = undefined as unknown as Response
  context.res = response
}
