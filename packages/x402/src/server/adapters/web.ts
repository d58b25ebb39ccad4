/** The gate in front of a function from `Request` to `Response`: route handlers of Next.js, Workers, Deno, Bun. */

import { OptionsError, warn } from '../../errors.js'
import { isSentOnce } from '../exchange/Admission.js'
import { forgetPassed, hasPassed, notePassed, sharePayment } from '../exchange/Payment.js'
import { Gate } from '../gate/Gate.js'
import type { GateOptions } from '../gate/GateOptions.js'
import { json, unavailable } from '../gate/responses.js'
import { checkGate, isUpgradeRequest, tryNewRequest } from '../routes/GateRequest.js'
import { isGateOptions } from './gateSource.js'
import { Overlay } from './Overlay.js'
import { defaultMaxBytes, failedResponse, grantedResponse, paidResponse } from './paidResponse.js'

export { type Payment, paymentOf } from '../exchange/Payment.js'

/** A function that responds to a request. Further arguments, such as the parameters of a route, are passed on. */
export type WebHandler<Args extends [request: Request, ...rest: unknown[]]> = (
  ...args: Args
) => Response | Promise<Response>

/**
 * A gate, the options of one, or a function that opens it and gets the arguments of the handler. Options and functions
 * are used with the first request.
 */
export type GateSource<Args extends [request: Request, ...rest: unknown[]]> =
  | Gate
  | GateOptions
  | ((...args: Args) => Promise<Gate>)

const reportEveryMs = 60_000

/** Options of {@link paymentGate}. */
export type WebGateOptions<Args extends [request: Request, ...rest: unknown[]] = [request: Request]> = {
  /**
   * The largest response that is buffered until its payment is settled.
   *
   * @default 10 MiB
   */
  maxBytes?: number | undefined
  /**
   * The response to a request whose path no route has: `refuse` responds with 404 and reports an error, so
   * that a misspelled route does not give the handler away; `free` runs the handler, for a handler with free paths. A
   * free path that ends like a paid one then needs `basePath` of the gate.
   *
   * @default 'refuse'
   */
  otherPaths?: 'refuse' | 'free' | undefined
  /**
   * Returns the IP address of the client, which identifies a buyer that sends a payment again without a secret. Return
   * only an address that the runtime knows, never one from a header that clients can send.
   *
   * @default the first address in `X-Forwarded-For`
   */
  clientAddress?: ((...args: Args) => string | undefined) | undefined
  /**
   * Called with errors that are not the buyer's fault, such as a gate that cannot be opened.
   *
   * @default writes a warning to the console
   */
  onError?: ((error: unknown) => void) | undefined
}

/**
 * Puts the gate in front of a handler. The payment is settled after the handler succeeds; a handler that throws, or
 * responds with a status of 400 or more, costs nothing.
 *
 * @throws OptionsError if `gate` is neither a gate, nor options, nor a function
 * @example
 * // app/weather/route.js of a Next.js app
 * const options = { payTo, facilitators: url, routes: { 'GET /weather': '$0.01' } }
 * const GET = paymentGate(options, async () => Response.json({ weather: 'sunny' }))
 */
export function paymentGate<Args extends [request: Request, ...rest: unknown[]]>(
  gate: GateSource<Args>,
  handler: WebHandler<Args>,
  options: WebGateOptions<Args> = {},
): (...args: Args) => Promise<Response> {
  const { maxBytes = defaultMaxBytes, otherPaths = 'refuse', clientAddress, onError = warn } = options
  const gateFor = gateOpener(gate)
  let reportedMs = Number.NEGATIVE_INFINITY
  // Limited in frequency, because anyone can request other paths.
  const onUnlisted = (request: Request): void => {
    if (performance.now() < reportedMs + reportEveryMs) return
    reportedMs = performance.now()
    onError(unlistedError(request))
  }
  return async (...args) => {
    const [raw] = args
    let opened: Gate
    try {
      opened = await gateFor(...args)
    } catch (error) {
      onError(error)
      return unavailable(503)
    }
    const settings = { maxBytes, otherPaths, onUnlisted, address: clientAddress?.(...args) }
    return respond(opened, raw, async () => handler(...args), settings)
  }
}

/** Opens the gate once. A gate that could not be opened is opened again with the next request. */
function gateOpener<Args extends [request: Request, ...rest: unknown[]]>(
  source: GateSource<Args>,
): (...args: Args) => Promise<Gate> {
  const gate = isGateOptions(source) ? () => Gate.open(source) : source
  if (typeof gate !== 'function') {
    checkGate(gate)
    return async () => gate
  }
  let opening: Promise<Gate> | undefined
  const open = async (args: Args): Promise<Gate> => {
    try {
      const opened = await gate(...args)
      checkGate(opened)
      return opened
    } catch (error) {
      opening = undefined
      throw error
    }
  }
  return (...args) => {
    opening ??= open(args)
    return opening
  }
}

type Settings = {
  readonly maxBytes: number
  readonly otherPaths: 'refuse' | 'free'
  readonly onUnlisted: (request: Request) => void
  readonly address: string | undefined
}

async function respond(
  gate: Gate,
  raw: Request,
  handler: () => Promise<Response>,
  { maxBytes, otherPaths, onUnlisted, address }: Settings,
): Promise<Response> {
  // Some runtimes do not report that a client has left.
  const { method, headers, url, signal = new AbortController().signal } = raw
  const target = `${method} ${url}`
  if (hasPassed(raw, gate, target)) return handler()
  const request = tryNewRequest(url, { method, headers, signal })
  if (request === undefined) return json(400, { error: 'the request has no valid URL' })
  // A program in front may have removed a prefix. The handler then serves other paths than the gate's routes.
  const path = { path: pathOf(url), isPrefixUnknown: otherPaths === 'free' }
  const decision = await gate.decide(request, path, address)
  sharePayment(request, [raw])
  if (decision.type === 'response') return decision.response
  if (decision.type === 'free' && decision.granted !== undefined) {
    notePassed(raw, gate, target)
    try {
      return grantedResponse(decision.granted, await handler())
    } finally {
      forgetPassed(raw, gate)
    }
  }
  if (decision.type === 'free') {
    if (decision.isUnlisted !== true || otherPaths === 'free') return handler()
    onUnlisted(raw)
    return json(404, { error: 'this path has no price' })
  }
  const { admission } = decision
  notePassed(raw, gate, target)
  // The adapter cannot tell whether the connection was opened, and a payment opens only one.
  const isUpgrade = isUpgradeRequest(raw)
  const cancel = async (reason: 'handler_threw' | 'handler_failed'): Promise<void> =>
    isUpgrade ? undefined : admission.cancel(reason)
  const givenUp = new AbortController()
  // A handler that stops when its client leaves would otherwise be paid for a partial response.
  if (admission.isStreamed && !isSentOnce(admission) && !isUpgrade) {
    new Overlay(raw, { signal: { get: () => givenUp.signal } })
  }
  // A handler that never responds is abandoned when its time is up.
  const onAbort = (): void => void admission.disconnected().then(() => givenUp.abort(signal.reason), warn)
  signal.addEventListener('abort', onAbort, { once: true })
  let response: Response
  try {
    response = await (admission.run === undefined ? handler() : admission.run(handler))
    checkResponse(response)
  } catch (error) {
    await cancel('handler_threw')
    throw error
  } finally {
    forgetPassed(raw, gate)
  }
  if (response.status >= 400) {
    await cancel('handler_failed')
    return failedResponse(admission, response)
  }
  const outerHeaders = new Headers()
  const options = { maxBytes, outerHeaders, signal, givenUp, direct: undefined, bindings: undefined, method }
  try {
    return await paidResponse(admission, response, options)
  } catch (error) {
    // The body cannot be read, for example because the handler has read it.
    await cancel('handler_failed')
    throw error
  }
}

/** A status of 0 is that of `Response.error()`, which runtimes send as a failure. */
function checkResponse(response: Response): void {
  const { status, headers } = (response ?? {}) as Partial<Response>
  if (typeof status === 'number' && status > 0 && headers !== undefined) return
  throw new TypeError('the handler did not return a Response')
}

function unlistedError({ method, url }: Request): OptionsError {
  return new OptionsError(
    `no route of the gate matches ${method.slice(0, 20)} ${pathOf(url).slice(0, 100)}, which the handler serves`,
    'Add the route to the gate; if a prefix was removed, set basePath; for free paths, set otherPaths to "free".',
  )
}

function pathOf(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i, '') || '/'
}
