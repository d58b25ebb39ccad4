/**
 * Converts a server's answer to a call into the response that a paying `fetch` decides on. Nothing in it is verified.
 */
import { Json } from '@latchkey/algorand'
import { paymentRequired, paymentResponse } from '@latchkey/x402/client'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { boundsProblem, messageBounds, toHeader } from '../wire/boundedJson.js'
import { paymentResponseKey } from '../wire/names.js'

/** The status tells whether the call was served. The result itself is not part of the response. */
export function responseOf(result: CallToolResult): Response {
  const headers = new Headers()
  const receipt = headerOf(result._meta?.[paymentResponseKey])
  if (receipt !== undefined) headers.set(paymentResponse, receipt)
  if (result.isError !== true) return new Response(null, { status: 200, headers })
  const required = headerOf(requiredIn(result))
  if (required !== undefined) {
    headers.set(paymentRequired, required)
    return new Response(null, { status: 402, headers })
  }
  const seconds = Json.isObject(result.structuredContent) ? result.structuredContent['retryAfterSeconds'] : undefined
  if (typeof seconds !== 'number') return new Response(null, { status: 500, headers })
  headers.set('Retry-After', '5')
  return new Response(null, { status: 503, headers })
}

/** Returns the payment requirement in the structured content or the text of a result, or undefined if there is none. */
function requiredIn({ structuredContent, content }: CallToolResult): unknown {
  if (isRequired(structuredContent)) return structuredContent
  const [first] = Array.isArray(content) ? content : []
  if (first?.type !== 'text' || first.text.length > messageBounds.maxBytes) return undefined
  const value = Json.parseObject(first.text)
  return isRequired(value) ? value : undefined
}

function isRequired(value: unknown): boolean {
  return Json.isObject(value) && value['x402Version'] !== undefined && Array.isArray(value['accepts'])
}

/**
 * Encodes a protocol value for the functions that read and check it. Returns undefined if it is absent or above the
 * limits.
 */
function headerOf(value: unknown): string | undefined {
  if (!Json.isObject(value) || boundsProblem(value, messageBounds) !== undefined) return undefined
  return toHeader(value)
}
