/**
 * The dialect of Cloudflare's `agents` package, in addition to the specification's. Its seller puts the price into
 * `_meta["x402/error"]` and not into the structured content, and reads the payment only as a text: JSON in base64. Its
 * buyer reads the price only from `_meta`.
 */
import { Bytes, Json } from '@latchkey/algorand'
import { boundsProblem, messageBounds } from './boundedJson.js'

/** In a result: the payment requirement. */
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
