/**
 * The messages of the x402 transport for MCP: the `_meta` keys of payments, the URL `mcp://tool/NAME` of a tool, and the
 * limits of values from other programs.
 *
 * Cloudflare's `agents` package has a dialect of its own, which is understood too. Its seller puts the price into
 * `_meta["x402/error"]` and not into the structured content, and reads the payment only as a text: JSON in base64. Its
 * buyer reads the price only from `_meta`.
 */
import { Bytes, Hash, Json } from '@latchkey/algorand'
import { McpError } from '../errors.js'

export type Bounds = { readonly maxBytes: number; readonly maxDepth: number; readonly maxCount: number }

/** For a payment, a payment requirement or a receipt: the size that fits into the headers of the HTTP transport. */
export const messageBounds: Bounds = { maxBytes: 48 * 1024, maxDepth: 64, maxCount: 10_000 }

/**
 * Explains why a value is not valid JSON or exceeds a limit, or returns undefined if it is within the limits. Examines
 * no more of the value than the limits allow. Does not recurse: deep nesting would exhaust the stack of a program that
 * serializes it.
 */
export function boundsProblem(value: unknown, { maxBytes, maxDepth, maxCount }: Bounds): string | undefined {
  const open: (readonly [value: unknown, depth: number])[] = [[value, 1]]
  let [bytes, count] = [0, 0]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [one, depth] = next
    count++
    bytes += sizeOf(one)
    if (bytes > maxBytes) return `it is larger than ${maxBytes} bytes`
    if (count > maxCount) return `it has more than ${maxCount} parts`
    if (!isJson(one)) return 'it has a value that is not JSON'
    if (typeof one !== 'object' || one === null) continue
    if (depth > maxDepth) return `it is nested more than ${maxDepth} deep`
    const members = Array.isArray(one) ? one : Object.entries(one)
    if (count + open.length + members.length > maxCount) return `it has more than ${maxCount} parts`
    for (const member of members) {
      if (!Array.isArray(one)) bytes += sizeOf((member as [string, unknown])[0])
      open.push([Array.isArray(one) ? member : (member as [string, unknown])[1], depth + 1])
    }
  }
  return bytes > maxBytes ? `it is larger than ${maxBytes} bytes` : undefined
}

/** The approximate size as JSON. Characters outside ASCII take up to six bytes. */
function sizeOf(value: unknown): number {
  return typeof value === 'string' ? value.length + 3 : 8
}

/** JSON omits undefined members. */
function isJson(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean', 'undefined', 'object'].includes(typeof value)
}

/**
 * Returns the same text for the same JSON, in any member order. The schema of a tool may have transformed the
 * arguments, for example into a set. Different arguments still have different texts.
 *
 * @throws McpError for an object without visible content
 */
export function canonicalJson(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'bigint') return `${inner}n`
    if (typeof inner === 'number' && !Number.isFinite(inner)) return String(inner)
    if (inner instanceof Map || inner instanceof Set) return [inner.constructor.name, ...inner]
    if (isOpaque(inner)) {
      const message = `the arguments contain an instance of ${inner.constructor?.name}, which has no JSON form that identifies it`
      throw new McpError('invalid_tool_option', message, {
        hint: 'Give the class a toJSON method, or let the schema return plain JSON.',
      })
    }
    return Json.isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner
  })
  return text ?? 'null'
}

/** Has a class but no members. */
function isOpaque(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype !== Object.prototype && prototype !== null && Object.keys(value).length === 0
}

/** Identifies the arguments of a call. */
export function digestOf(value: unknown): string {
  return Bytes.toBase64Url(Hash.sha256(Bytes.fromUtf8(canonicalJson(value))))
}

/** Encodes a protocol value as in the HTTP transport: JSON in base64. */
export function toHeader(value: unknown): string {
  return Bytes.toBase64(Bytes.fromUtf8(JSON.stringify(value)))
}

/** Decodes a header that this program wrote. */
export function fromHeader(header: string): unknown {
  return JSON.parse(new TextDecoder().decode(Bytes.fromBase64(header)!))
}

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
