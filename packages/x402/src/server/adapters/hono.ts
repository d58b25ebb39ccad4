/** The gate as a Hono middleware, for every runtime of Hono. */

import { captureDirect, watchDelivery } from '#node-response'
import { warn } from '../../errors.js'
import { isSentOnce } from '../exchange/Admission.js'
import { hasPassed, notePassed, sharePayment } from '../exchange/Payment.js'
import { Gate } from '../gate/Gate.js'
import type { GateOptions } from '../gate/GateOptions.js'
import { json } from '../gate/responses.js'
import { checkGate, isUpgradeRequest, tryNewRequest } from '../routes/GateRequest.js'
import { isGateOptions } from './gateSource.js'
import { type HonoContext, nodeBindings, pathOfContext } from './honoContext.js'
import { Overlay } from './Overlay.js'
import { defaultMaxBytes, failedResponse, grantedResponse, paidResponse } from './paidResponse.js'

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

/**
 * Opens a gate, and returns it as a Hono middleware. Keys are whole paths, or relative to where the gate is mounted: by
 * `route()`, `basePath()`, `use(path)`, and on Node by `mount()`. On other runtimes, an app mounted by `mount()` needs
 * the gate's option `basePath`. WebSockets are settled before their handlers run.
 *
 * @throws what `Gate.open` throws
 * @example
 * const app = new Hono()
 * app.use(await paymentGate({ payTo, facilitators: url, routes: { 'GET /weather': '$0.01' } }))
 * app.get('/weather', (context) => context.json({ weather: 'sunny' }))
 */
export function paymentGate(options: GateOptions & HonoGateOptions): Promise<HonoMiddleware>
/**
 * Returns a gate that is open as a Hono middleware.
 *
 * @throws OptionsError if `gate` is not a gate
 * @example
 * const app = new Hono().use(paymentGate(gate)).get('/weather', (context) => context.json({ weather: 'sunny' }))
 */
export function paymentGate(gate: Gate, options?: HonoGateOptions): HonoMiddleware
export function paymentGate(
  gate: Gate | (GateOptions & HonoGateOptions),
  options: HonoGateOptions = {},
): HonoMiddleware | Promise<HonoMiddleware> {
  if (isGateOptions(gate)) return Gate.open(gate).then((opened) => middleware(opened, gate))
  checkGate(gate)
  return middleware(gate, options)
}

function middleware(gate: Gate, { maxBytes = defaultMaxBytes }: HonoGateOptions): HonoMiddleware {
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
      if (decision.granted !== undefined) notePassed(raw, gate, target)
      await next()
      if (decision.granted !== undefined) replace(context, grantedResponse(decision.granted, context.res))
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
    const cancel = async (reason: 'handler_threw' | 'handler_failed'): Promise<void> =>
      isUpgrade ? undefined : admission.cancel(reason)
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
      await cancel('handler_threw')
      throw error
    }
    const isFailure = context.error !== undefined || context.res.status >= 400
    if (isFailure) {
      direct?.remove()
      await cancel(context.error === undefined ? 'handler_failed' : 'handler_threw')
      replace(context, failedResponse(admission, context.res))
      return undefined
    }
    const options = { maxBytes, outerHeaders, signal, givenUp, direct, bindings, method }
    const response = await paidResponse(admission, context.res, options)
    replace(context, response)
    return undefined
  }
}

/** Hono merges the headers of the old response into the new one, unless the old one is removed first. */
function replace(context: HonoContext, response: Response): void {
  context.res = undefined as unknown as Response
  context.res = response
}
