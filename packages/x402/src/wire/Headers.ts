/**
 * The three headers of the protocol: JSON in base64. Everything from outside is bounded and checked against the
 * protocol's schemas before anybody looks into it.
 */
import { parsePaymentPayload, parsePaymentRequired } from '@x402/core/schemas'
import type { PaymentPayload, PaymentRequired, SettleResponse } from './types.js'

export const paymentRequired = 'PAYMENT-REQUIRED'
export const paymentSignature = 'PAYMENT-SIGNATURE'
export const paymentResponse = 'PAYMENT-RESPONSE'

/** A payment of sixteen transactions fits; servers and proxies end far below the first megabyte. */
export const maxHeaderBytes = 64 * 1024
/** The protocol needs six. What is nested deeper could be read, but not be written again: that takes the stack. */
export const maxDepth = 64

export function encode(value: PaymentPayload | PaymentRequired | SettleResponse): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64')
}

/** Throws a HeaderError. */
export function decodePayment(header: string): PaymentPayload {
  const parsed = parsePaymentPayload(decodeJson(header))
  if (!parsed.success) throw new HeaderError('the payment has not the form of the protocol')
  const payload = parsed.data as PaymentPayload
  // Earlier versions name a payment by scheme and network alone, which is too little to hold it to.
  if (payload.x402Version !== 2) throw new HeaderError('only version 2 of the protocol is served')
  return payload
}

/**
 * Throws a HeaderError. Requirements that have not the form of the protocol are left out, the others are as they came:
 * a seller knows its own again by every member, also by those that nobody else understands.
 */
export function decodeRequired(header: string): PaymentRequired {
  const value = decodeJson(header)
  const { accepts, ...rest } = isObject(value) ? value : {}
  const isGood = (requirement: unknown): boolean => {
    const parsed = parsePaymentRequired({ ...rest, accepts: [requirement] })
    return parsed.success && parsed.data.x402Version === 2
  }
  const good = Array.isArray(accepts) ? accepts.filter(isGood) : []
  if (good.length === 0) throw new HeaderError('the requirements have not the form of version 2 of the protocol')
  return { ...rest, accepts: good } as PaymentRequired
}

/** What a settlement came to, as told to the buyer. */
export type Receipt = {
  readonly success: boolean
  readonly transaction: string
  readonly network: string | undefined
  readonly payer: string | undefined
  readonly amount: string | undefined
  readonly errorReason: string | undefined
  readonly errorMessage: string | undefined
}

/** Throws a HeaderError. Reads also the earlier variant, which has `transactionId` and `status` instead. */
export function decodeReceipt(header: string): Receipt {
  const members = decodeJson(header)
  if (!isObject(members)) throw new HeaderError('the receipt is not an object')
  const text = (name: string): string | undefined => {
    const value = members[name]
    return typeof value === 'string' ? value : undefined
  }
  const isOfOldForm = members['success'] === undefined && typeof members['status'] === 'string'
  return {
    success: isOfOldForm
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

function decodeJson(header: string): unknown {
  if (header.length > maxHeaderBytes) throw new HeaderError(`the header is longer than ${maxHeaderBytes} bytes`)
  const base64 = header.trim()
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw new HeaderError('the header is not base64')
  const json = Buffer.from(base64, 'base64').toString('utf8')
  if (isDeep(json)) throw new HeaderError(`the header is nested more than ${maxDepth} deep`)
  try {
    return JSON.parse(json, refusePrototype)
  } catch {
    throw new HeaderError('the header is not JSON in base64')
  }
}

/** A member of that name turns into what an object inherits when the object is copied, and is in no comparison after. */
function refusePrototype(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new HeaderError('a member has a name that none may have')
  return value
}

function isDeep(json: string): boolean {
  let depth = 0
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
    if (depth > maxDepth) return true
  }
  return false
}

function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export class HeaderError extends Error {
  override name = 'Headers.HeaderError'
}
