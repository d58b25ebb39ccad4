/** The three headers of the protocol: JSON in base64, limited in size and checked against the protocol's schemas. */
import { Bytes, Json } from '@latchkey/algorand'
import { PaymentRequirementsV2Schema, parsePaymentRequired } from '@x402/core/schemas'
import { WireError } from './errors.js'
import * as OfferReceipt from './OfferReceipt.js'
import { type PaymentPayload, type PaymentRequired, parsePayload, type SettleResponse } from './parsePayment.js'
import { decodeBase64, parseJson } from './texts.js'

/** The header of a 402, with the seller's offers. */
export const paymentRequired = 'PAYMENT-REQUIRED'
/** The header of a paid request, with the payment. */
export const paymentSignature = 'PAYMENT-SIGNATURE'
/** The header of a paid response, with the receipt. */
export const paymentResponse = 'PAYMENT-RESPONSE'

/** Fits a payment of sixteen transactions. Servers and proxies have limits of about this size. */
export const maxHeaderBytes = 64 * 1024
/** The protocol needs six levels. Deeper nesting could be parsed, but serializing it again would exhaust the stack. */
export const maxDepth = 64

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** Encodes a value of the protocol as a header. */
export function encode(value: PaymentPayload | PaymentRequired | SettleResponse): string {
  return Bytes.toBase64(Bytes.fromUtf8(JSON.stringify(value)))
}

/**
 * Decodes the payment in a PAYMENT-SIGNATURE header.
 *
 * @throws {@link HeaderError}
 */
export function decodePayment(header: string): PaymentPayload {
  const payload = parsePayload(decodeJson(header))
  if (payload === undefined) throw new HeaderError('invalid_header', "the payment does not match the protocol's schema")
  // Version 1 identifies the offer by scheme and network alone, which does not identify a single offer.
  if (payload.x402Version !== 2) throw new HeaderError('unsupported_version', 'only protocol version 2 is supported')
  return payload
}

/**
 * Decodes the offers in a PAYMENT-REQUIRED header. Offers that do not match the schema are left out. The others keep
 * all members, including unknown ones, because the seller compares them when the payment arrives.
 *
 * @throws {@link HeaderError}
 */
export function decodeRequired(header: string): PaymentRequired {
  const value = decodeJson(header)
  const { accepts, ...rest } = Json.isObject(value) ? value : {}
  // The members around the offers are the same for all of them, so they are parsed once, with an offer that matches.
  const parsed = parsePaymentRequired({ ...rest, accepts: [anyRequirement] })
  const isReadable = parsed.success && parsed.data.x402Version === 2 && Array.isArray(accepts)
  const valid = isReadable ? (accepts as unknown[]).filter(isRequirement) : []
  if (valid.length === 0) throw new HeaderError('invalid_header', 'no offer matches the schema of protocol version 2')
  return { ...rest, accepts: valid } as PaymentRequired
}

const anyRequirement = { scheme: 'exact', network: 'a:b', amount: '1', asset: '1', payTo: 'a', maxTimeoutSeconds: 1 }

/** Checks types first: the schema is slow to reject an offer, and a header has room for thousands of offers. */
function isRequirement(value: unknown): boolean {
  if (!Json.isObject(value)) return false
  const isTyped = Object.entries(anyRequirement).every(([name, one]) => typeof value[name] === typeof one)
  return isTyped && PaymentRequirementsV2Schema.safeParse(value).success
}

/** The result of a settlement, as reported to the buyer by the seller. */
export type Receipt = {
  /** Whether the payment is settled. */
  readonly success: boolean
  /** The id of the transaction that pays; empty if there is none. */
  readonly transaction: string
  readonly network: string | undefined
  readonly payer: string | undefined
  readonly amount: string | undefined
  readonly errorReason: string | undefined
  readonly errorMessage: string | undefined
  /** The receipt that the seller has signed, as a compact JWS, unverified; absent if there is none. */
  readonly signedReceipt?: string | undefined
}

/**
 * Decodes the receipt in a PAYMENT-RESPONSE header. The older form with `transactionId` and `status` is accepted too.
 *
 * @throws {@link HeaderError}
 */
export function decodeReceipt(header: string): Receipt {
  const members = decodeJson(header)
  if (!Json.isObject(members)) throw new HeaderError('invalid_header', 'the receipt is not an object')
  const text = (name: string): string | undefined => {
    const value = members[name]
    return typeof value === 'string' ? value : undefined
  }
  const signedReceipt = members['extensions'] === undefined ? undefined : OfferReceipt.read(members)
  const isOldForm = members['success'] === undefined && typeof members['status'] === 'string'
  return {
    success: isOldForm
      ? /^(success|settled|confirmed|completed|ok)$/i.test(text('status')!)
      : members['success'] === true,
    transaction: text('transaction') ?? text('transactionId') ?? '',
    network: text('network'),
    payer: text('payer'),
    amount: text('amount'),
    errorReason: text('errorReason'),
    errorMessage: text('errorMessage'),
    ...(signedReceipt === undefined ? {} : { signedReceipt }),
  }
}

/** Treats a header that cannot be read as missing. */
export function orUndefined<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof HeaderError) return undefined
    throw error
  }
}

function decodeJson(header: string): unknown {
  if (header.length > maxHeaderBytes)
    throw new HeaderError('invalid_header', `the header is longer than ${maxHeaderBytes} bytes`)
  const bytes = decodeBase64(header.trim())
  if (bytes === undefined) throw new HeaderError('invalid_header', 'the header is not base64')
  const json = utf8.decode(bytes)
  if (isDeep(json)) throw new HeaderError('invalid_header', `the header is nested more than ${maxDepth} deep`)
  // Rejects `__proto__`: copying an object would turn such a member into its prototype, hidden from comparisons.
  const value = parseJson(json)
  if (value === undefined) throw new HeaderError('invalid_header', 'the header is not JSON in base64')
  return value
}

function isDeep(json: string): boolean {
  // Nearly all headers have fewer brackets than the allowed levels.
  if (countOpening(json) <= maxDepth) return false
  let depth = 0
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
    if (depth > maxDepth) return true
  }
  return false
}

function countOpening(json: string): number {
  let count = 0
  for (const bracket of ['{', '[']) {
    for (let at = json.indexOf(bracket); at >= 0 && count <= maxDepth; at = json.indexOf(bracket, at + 1)) count++
  }
  return count
}

/** A header of the protocol that cannot be read. */
export class HeaderError extends WireError<'invalid_header' | 'unsupported_version'> {
  override name = 'HeaderError'
}
