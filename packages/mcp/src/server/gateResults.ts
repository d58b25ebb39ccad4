/** Converts gate responses into tool results, and tool results into the answers that a gate stores. */
import { Bytes, Json } from '@latchkey/algorand'
import type { HeaderList, PaymentRequired } from '@latchkey/x402/server'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { fromHeader } from '../wire/boundedJson.js'
import { paymentResponseKey, toolUrl } from '../wire/names.js'

/** The complete result of a tool, as a gate stores it. */
export type ToolAnswer = { readonly status: number; readonly headers: HeaderList; readonly body: Uint8Array }

const help =
  'This tool requires payment: pay one of `accepts` and call it again with the payment in `_meta["x402/payment"]`.'

/** Adds the receipt of the gate to a result, and removes any receipt that the tool made up. */
export function withReceipt<T extends { _meta?: CallToolResult['_meta'] }>(result: T, headers: HeaderList): T {
  const { [paymentResponseKey]: _, ...meta } = result._meta ?? {}
  const receipt = headers.find(([name]) => /^payment-response$/i.test(name))?.[1]
  const all = receipt === undefined ? meta : { ...meta, [paymentResponseKey]: fromHeader(receipt) }
  if (Object.keys(all).length > 0) return { ...result, _meta: all }
  const { _meta, ...rest } = result
  return rest as T
}

/** Encodes a result for the gate to store. */
export function answerOf(result: CallToolResult): ToolAnswer {
  const body = Bytes.fromUtf8(JSON.stringify(result))
  return {
    status: 200,
    headers: [['Content-Type', 'application/json']],
    body,
  }
}

/**
 * Returns the tool result for a response that the gate gives in the tool's place: a price, a refusal, an earlier
 * result, or a temporary failure.
 */
export async function resultOf(response: Response, name: string): Promise<CallToolResult> {
  const { status, headers } = response
  const text = await response.text()
  const body = parsed(text)
  if (status === 200 && Json.isObject(body)) return withReceipt(body as CallToolResult, [...headers])
  const header = headers.get('PAYMENT-REQUIRED')
  if (status === 402 && header !== null) {
    const required = fromHeader(header) as PaymentRequired
    const message = required.error === 'Payment required' ? undefined : messageIn(body)
    return withReceipt(paymentRequired(required, name, message), [...headers])
  }
  const retryAfterSeconds = Number(headers.get('Retry-After') ?? Number.NaN)
  const members = {
    ...(Json.isObject(body) ? body : { error: 'the payment could not be checked' }),
    ...(Number.isFinite(retryAfterSeconds) ? { retryAfterSeconds } : {}),
  }
  return withReceipt(failedResult(members), [...headers])
}

/**
 * The result that asks for a payment: the same JSON twice, as the transport specifies, with instructions in plain text.
 */
export function paymentRequired(required: PaymentRequired, name: string, message: string = help): CallToolResult {
  const named = { ...required, resource: { ...required.resource, url: toolUrl(name) } }
  const texts = [JSON.stringify(named), message]
  return { isError: true, structuredContent: named, content: texts.map((text) => ({ type: 'text', text })) }
}

/** Not a payment requirement, because a buyer that is asked to pay again might do so. */
export function failedResult(members: Json.Members): CallToolResult {
  return { isError: true, structuredContent: members, content: [{ type: 'text', text: JSON.stringify(members) }] }
}

function messageIn(body: unknown): string | undefined {
  const message = Json.isObject(body) ? body['message'] : undefined
  return typeof message === 'string' ? message : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
