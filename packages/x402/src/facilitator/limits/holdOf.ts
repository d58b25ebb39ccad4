/** How long, and for which bytes, a verified payment is held. */
import { Bytes, Hash } from '@latchkey/algorand'
import type { PaymentRequirements } from '@latchkey/x402-wire'
import type { VerifiedPayment } from '../verify/verifyPayment.js'

/** Rounds of public networks take about 3 seconds. */
const maxRoundMs = 5_000

/**
 * The time that the seller has, but no longer than the payment can be valid. Most buyers make payments with shorter
 * validity.
 */
export function holdMsOf(
  { firstValid, lastValid }: VerifiedPayment,
  { maxTimeoutSeconds }: PaymentRequirements,
): number {
  const validMs = Number(lastValid - firstValid + 1n) * maxRoundMs
  return Number.isFinite(maxTimeoutSeconds) ? Math.min(maxTimeoutSeconds * 1000, validMs) : validMs
}

const keys = new WeakMap<VerifiedPayment, string>()

/** Covers signatures too, because a result for one signature of a payment does not apply to another. */
export function keyOf(payment: VerifiedPayment): string {
  let key = keys.get(payment)
  if (key === undefined) {
    key = Bytes.toBase64(Hash.sha256(Bytes.concat(payment.group.members.map(({ bytes }) => bytes))))
    keys.set(payment, key)
  }
  return key
}
