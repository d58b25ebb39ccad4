/** A call of a tool as the request that a gate decides on. */
import type { Accept, Route } from '@latchkey/x402/server'
import type { ServerContext } from '@modelcontextprotocol/server'
import { boundsProblem, messageBounds, toHeader } from '../wire/boundedJson.js'
import { paymentKey } from '../wire/metaKeys.js'
import type { PaidTool, ToolAccept, ToolCall, ToolDynamic } from './ToolGateOptions.js'

/** With the path of `mcp://tool/NAME`: the gate compares it with the resource that a payment names. */
const origin = 'http://tool'
/** Which arguments a price is for, and a payment. */
const argumentsHeader = 'Mcp-Tool-Arguments'
const paymentHeader = 'PAYMENT-SIGNATURE'
/** A header that no gate can read, in place of a payment that is too large to be read. */
const unreadable = '-'

/** The calls that requests were made of. */
const calls = new WeakMap<Request, ToolCall>()

/** What a gate calls a tool. */
export function routeKey(name: string): string {
  return `POST /${name}`
}

/** The route of a gate for a tool: POST, since what a tool did cannot be done again at will. */
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

/** Without a flow the gate settles a POST first, and holds its answer. */
function acceptOf(accept: ToolAccept): Accept {
  // What is not set at all is for the gate to say.
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
 * The request for a call: its payment, and what tells clients apart that have no secret of their own. The gate never sees
 * other headers of an HTTP request, which may be for several calls.
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
