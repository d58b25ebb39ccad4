/**
 * The x402 transport for MCP: the `_meta` keys of payments, and the URL `mcp://tool/NAME` of a tool.
 *
 * Cloudflare's `agents` package has a dialect of its own, which is understood too. Its seller puts the price into
 * `_meta["x402/error"]` and not into the structured content, and reads the payment only as a text: JSON in base64. Its
 * buyer reads the price only from `_meta`.
 */
import { Bytes, Json } from '@latchkey/algorand'
import { McpError } from '../errors.js'
import { boundsProblem, messageBounds } from './boundedJson.js'

/** In a request: the payment, a `PaymentPayload`. */
export const paymentKey = 'x402/payment'
/** In a result: the receipt, a `SettlementResponse`. */
export const paymentResponseKey = 'x402/payment-response'

const prefix = 'mcp://tool/'

/**
 * The names of tools that can be sold: letters, digits, `_`, `-` and `.`, at most 128 characters, as MCP recommends.
 * Other names would need escaping in a URL and could be read in two ways. URLs resolve names that consist only of dots.
 */
const plainName = /^(?!\.+$)[A-Za-z0-9_.-]{1,128}$/

/** The URL that identifies a tool in payments. */
export function toolUrl(name: string): string {
  return `${prefix}${name}`
}

/**
 * The URL that identifies a tool of a server with a public address: the fragment is the name of the tool.
 *
 * @throws McpError if the address is not an http or https URL without a fragment
 */
export function serverToolUrl(server: string, name: string): string {
  const url = typeof server === 'string' && URL.canParse(server) ? new URL(server) : undefined
  const isPlain = url?.username === '' && url.password === '' && url.hash === '' && url.search === ''
  if (isPlain && /^https?:$/.test(url.protocol)) return `${url.href}#${name}`
  const hint = 'Pass the public address of the MCP server, such as "https://example.com/mcp".'
  throw new McpError('invalid_tool_option', `url cannot be ${JSON.stringify(server)}`, { hint })
}

/** @throws McpError if the name cannot be part of a URL unchanged */
export function checkToolName(name: string): void {
  if (typeof name === 'string' && plainName.test(name)) return
  const hint = 'Use at most 128 letters, digits, "_", "-" and ".".'
  throw new McpError('invalid_tool_option', `${JSON.stringify(name)} is not a valid name for a paid tool`, { hint })
}

/** In a result of the dialect: the payment requirement. */
export const errorKey = 'x402/error'
/** In `tools/list`, next to `Discovery.paidToolKey`: the price of a tool in dollars, if it is fixed. */
export const dollarsKey = 'agents-x402/priceUSD'

/** How a payment is written: as the object of the specification, or as the text of the other dialect. */
export type Dialect = 'object' | 'text'

/** The longest text whose content can be within the limits of a message. */
const maxTextLength = Math.ceil(messageBounds.maxBytes / 3) * 4

/**
 * Encodes a payment as a text. All characters outside ASCII are escaped, because the other program decodes the bytes
 * one by one.
 */
export function paymentText(payment: unknown): string {
  const json = JSON.stringify(payment).replace(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return Bytes.toBase64(Bytes.fromUtf8(json))
}

/** Decodes a payment from a text; undefined if it is not a JSON object in base64, or above the limits. */
export function paymentIn(text: string): Json.Members | undefined {
  if (text.length > maxTextLength) return undefined
  const bytes = Bytes.fromBase64(text)
  if (bytes === undefined) return undefined
  // The other program encodes each character as one byte.
  const json = Bytes.toUtf8(bytes) ?? new TextDecoder('latin1').decode(bytes)
  const value = Json.parseObject(json)
  return value !== undefined && boundsProblem(value, messageBounds) === undefined ? value : undefined
}

/** The price of a tool in dollars, for `tools/list`; undefined if it is not a fixed price in dollars. */
export function fixedDollars(price: unknown): number | undefined {
  const text = typeof price === 'number' ? String(price) : price
  if (typeof text !== 'string' || !/^\$?[0-9]{1,9}(\.[0-9]{1,9})?$/.test(text)) return undefined
  return Number(text.replace('$', ''))
}
