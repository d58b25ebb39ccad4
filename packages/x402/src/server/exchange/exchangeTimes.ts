/** How long the parts of a paid request may take. */
import type { PaymentRequirements } from '@latchkey/x402-wire'

/** How long a handler may take beyond `maxTimeoutSeconds`. */
const graceMs = 60_000
/** How long the facilitators may take after the handler. */
export const settleMs = 240_000
/** An answer is no longer stored this long before its claim ends, because another request may get the claim. */
export const holdMarginMs = 30_000
/** How long a claim is kept after its payment has expired. */
export const keepClaimRounds = 1_000n

/** How long the handler of a payment may take. */
export function handlerMs({ maxTimeoutSeconds }: PaymentRequirements): number {
  return maxTimeoutSeconds * 1000 + graceMs
}
