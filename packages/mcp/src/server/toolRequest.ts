/** Converts a tool call into the request that a gate decides on. */
import type { Accept, Route } from '@latchkey/x402/server'
import type { ServerContext } from '@modelcontextprotocol/server'
import { boundsProblem, messageBounds, toHeader } from '../wire/boundedJson.js'
import { paymentKey } from '../wire/names.js'
import type { PaidTool, ToolAccept, ToolCall, ToolDynamic } from './ToolGateOptions.js'

/** Its path matches `mcp://tool/NAME`: the gate compares the path with the resource that a payment names. */
const origin = 'http://tool'
/** Identifies the arguments that a price and a payment are for. */
const argumentsHeader = 'Mcp-Tool-Arguments'
const paymentHeader = 'PAYMENT-SIGNATURE'
/** A header that no gate can parse, sent in place of an oversized payment. */
const unreadable = '-'

/** The calls behind the requests. */
const calls = new WeakMap<Request, ToolCall>()

/** The route key of a tool. */
export function routeKey(name: string): string {
  return `POST /${name}`
}

/** The gate's route for a tool. The method is POST because a tool call may not be repeatable. */
export function routeOf({ accepts, description, settleFirstAbove }: PaidTool): Route {
  const list = (Array.isArray(accepts) ? accepts : [accepts]) as readonly ToolAccept[]
  return {
    accepts: list.map(acceptOf),
    description,
    settleFirstAbove,
    mimeType: 'application/json',
    varyBy: [argumentsHeader],
    passes: false,
  }
}

/** Without a payment flow the gate settles a POST first and stores its answer. */
function acceptOf(accept: ToolAccept): Accept {
  // The gate itself reports a missing value.
  if (typeof accept !== 'object' || accept === null) return accept
  const { price, payTo, paymentFlow = 'authorization', ...rest } = accept
  const isUpfront = paymentFlow === 'upfront'
  return { ...rest, price: ofCall(price), payTo: ofCall(payTo), ...(isUpfront ? {} : { paymentFlow }) }
}

function ofCall<T>(value: ToolDynamic<T>): T | ((request: Request) => T | Promise<T>) {
  if (typeof value !== 'function') return value
  return (request) => (value as (call: ToolCall) => T | Promise<T>)(calls.get(request)!)
}

/**
 * Builds the request for a call from its payment and from whatever distinguishes clients that have no secret. The gate
 * never sees other headers of an HTTP request, which may be for several calls.
 */
export function toolRequest(call: ToolCall, digest: string, { mcpReq, http }: ServerContext): Request {
  const headers = new Headers({ [argumentsHeader]: digest })
  const payment = mcpReq._meta?.[paymentKey]
  if (payment !== undefined) headers.set(paymentHeader, headerOf(payment))
  for (const name of ['Authorization', 'X-Forwarded-For', 'X-Request-Id']) {
    const value = http?.req?.headers.get(name) ?? null
    if (value !== null) headers.set(name, value)
  }
  const request = new Request(`${origin}/${call.name}`, { method: 'POST', headers, signal: mcpReq.signal })
  calls.set(request, call)
  return request
}

function headerOf(payment: unknown): string {
  return boundsProblem(payment, messageBounds) === undefined ? toHeader(payment) : unreadable
}
