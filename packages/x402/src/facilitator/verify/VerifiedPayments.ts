/**
 * Caches recently verified payments, so that a payment decoded and checked for `verify` is not decoded and checked
 * again for `settle`. The key is the exact text of everything that the checks read, so that another signature or
 * requirement is another payment.
 */
import { BoundedMap } from '@latchkey/algorand'
import type { PaymentPayload, PaymentRequirements } from '@latchkey/x402-wire'
import type { VerifiedPayment } from './verifyPayment.js'

/** Each payment takes some kilobytes. Only payments that nodes would accept are kept. */
const maxPayments = 2_000
/** Longer texts are rare, and are not kept. */
const maxKeyCharacters = 8_192

export class VerifiedPayments {
  readonly #payments = new BoundedMap<string, VerifiedPayment>(maxPayments)

  get(key: string | undefined): VerifiedPayment | undefined {
    return key === undefined ? undefined : this.#payments.get(key)
  }

  add(key: string | undefined, payment: VerifiedPayment): void {
    if (key !== undefined) this.#payments.set(key, payment)
  }
}

/** Everything that `verifyPayment` reads; undefined for values that a valid payment cannot have. */
export function verificationKey(payload: PaymentPayload, requirements: PaymentRequirements): string | undefined {
  const { paymentGroup, paymentIndex } = (payload?.payload ?? {}) as Record<string, unknown>
  if (!Array.isArray(paymentGroup) || !Number.isInteger(paymentIndex)) return undefined
  const { scheme, network, asset, amount, payTo } = requirements ?? {}
  const { scheme: acceptedScheme, network: acceptedNetwork } = payload.accepted ?? {}
  const texts: unknown[] = [acceptedScheme, acceptedNetwork, scheme, network, asset, amount, payTo, ...paymentGroup]
  let length = 0
  for (const text of texts) {
    if (typeof text !== 'string') return undefined
    length += text.length
  }
  if (length > maxKeyCharacters || payload.x402Version !== 2) return undefined
  // Escaped, so that adjacent texts cannot run together.
  return JSON.stringify([paymentIndex, ...texts])
}
