/** The three headers of the protocol: JSON in base64, bounded and checked against the protocol's schemas. */
import { Bytes, Json } from '@latchkey/algorand'
import { PaymentRequirementsV2Schema, parsePaymentRequired } from '@x402/core/schemas'
import { X402Error } from '../errors.js'
import { decodeBase64 } from './base64.js'
import { parseJson } from './parseJson.js'
import { parsePayload } from './parsePayment.js'
import type { PaymentPayload, PaymentRequired, SettleResponse } from './types.js'

/** The header of a 402: what the seller accepts. */
export const paymentRequired = 'PAYMENT-REQUIRED'
/** The header of a paid request: the payment. */
export const paymentSignature = 'PAYMENT-SIGNATURE'
/** The header of a paid response: the receipt. */
export const paymentResponse = 'PAYMENT-RESPONSE'

/** A payment of sixteen transactions fits; servers and proxies have limits of this order. */
export const maxHeaderBytes = 64 * 1024
/** The protocol needs six. Deeper nesting could be parsed, but writing it again would exhaust the stack. */
export const maxDepth = 64

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** A value of the protocol as a header. */
export function encode(value: PaymentPayload | PaymentRequired | SettleResponse): string {
  return Bytes.toBase64(Bytes.fromUtf8(JSON.stringify(value)))
}

/**
 * The payment in a PAYMENT-SIGNATURE header.
 *
 * @throws {@link HeaderError}
 */
export function decodePayment(header: string): PaymentPayload {
  const payload = parsePayload(decodeJson(header))
  if (payload === undefined)
    throw new HeaderError('invalid_header', 'the payment does not match the schema of the protocol')
  // Version 1 identifies the offer by scheme and network alone, which is not enough to match it.
  if (payload.x402Version !== 2)
    throw new HeaderError('unsupported_version', 'only version 2 of the protocol is supported')
  return payload
}

/**
 * The offers in a PAYMENT-REQUIRED header. Offers that do not match the schema are left out; the others are unchanged,
 * with members that are unknown here: the seller compares them when the payment arrives.
 *
 * @throws {@link HeaderError}
 */
export function decodeRequired(header: string): PaymentRequired {
  const value = decodeJson(header)
  const { accepts, ...rest } = Json.isObject(value) ? value : {}
  // Once, with an offer that matches: what surrounds the offers is the same for each of them.
  const parsed = parsePaymentRequired({ ...rest, accepts: [anyRequirement] })
  const isReadable = parsed.success && parsed.data.x402Version === 2 && Array.isArray(accepts)
  const valid = isReadable ? (accepts as unknown[]).filter(isRequirement) : []
  if (valid.length === 0)
    throw new HeaderError('invalid_header', 'no offer matches the schema of version 2 of the protocol')
  return { ...rest, accepts: valid } as PaymentRequired
}

const anyRequirement = { scheme: 'exact', network: 'a:b', amount: '1', asset: '1', payTo: 'a', maxTimeoutSeconds: 1 }

/** The schema takes long to say why something is no offer, and a header has room for thousands. */
function isRequirement(value: unknown): boolean {
  if (!Json.isObject(value)) return false
  const isTyped = Object.entries(anyRequirement).every(([name, one]) => typeof value[name] === typeof one)
  return isTyped && PaymentRequirementsV2Schema.safeParse(value).success
}

/** The result of a settlement, as the seller reports it to the buyer. */
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
}

/**
 * The receipt in a PAYMENT-RESPONSE header. Also reads the older form, with `transactionId` and `status`.
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
  }
}

/** A header that cannot be read counts as missing. */
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
  // Copying an object turns a member `__proto__` into its prototype, where comparisons no longer see it.
  const value = parseJson(json)
  if (value === undefined) throw new HeaderError('invalid_header', 'the header is not JSON in base64')
  return value
}

function isDeep(json: string): boolean {
  // Nearly all have fewer brackets than levels are allowed.
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
export class HeaderError extends X402Error<'invalid_header' | 'unsupported_version'> {
  override name = 'HeaderError'
}
