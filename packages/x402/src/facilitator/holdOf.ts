/** For how long, and for which bytes, a verified payment is held. */
import { Bytes, Hash } from '@latchkey/algorand'
import type { PaymentRequirements } from '../wire/types.js'
import type { VerifiedPayment } from './verifyPayment.js'

/** Rounds of public networks take about 3 seconds. */
const maxRoundMs = 5_000

/** The time that the seller has, and no longer than the payment can be valid: most buyers make shorter ones. */
export function holdMsOf(
  { firstValid, lastValid }: VerifiedPayment,
  { maxTimeoutSeconds }: PaymentRequirements,
): number {
  const validMs = Number(lastValid - firstValid + 1n) * maxRoundMs
  return Number.isFinite(maxTimeoutSeconds) ? Math.min(maxTimeoutSeconds * 1000, validMs) : validMs
}

/** Over signatures too: a result for one signature of a payment does not apply to another. */
export function keyOf({ group }: VerifiedPayment): string {
  return Bytes.toBase64(Hash.sha256(Bytes.concat(group.members.map(({ bytes }) => bytes))))
}
