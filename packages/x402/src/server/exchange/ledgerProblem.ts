/** Refuses a payment for its rounds, or for its payer, before a facilitator is asked. */
import type { PaidRequest } from './PaidRequest.js'
import type { LedgerStatus } from './Payment.js'
import type { UnpaidPayers } from './UnpaidPayers.js'

/** A transaction is valid for at most 1,000 rounds, and a node may lag behind the buyer's node. */
const maxAheadRounds = 2_000n

type Known = {
  /** Whether the payment was claimed here before. */
  readonly isKnown: boolean
  readonly unpaid: UnpaidPayers
}

/** Returns why the payment opens nothing; undefined if a facilitator decides. */
export function ledgerProblem(
  { state, round }: LedgerStatus,
  { payment, usage }: Pick<PaidRequest, 'payment' | 'usage'>,
  { isKnown, unpaid }: Known,
): { readonly code: string; readonly message: string } | undefined {
  const code = usage === undefined ? 'invalid_exact_avm_payload_validity' : 'invalid_upto_avm_payload_validity'
  // An authorization that was claimed here may have been settled in time, and its answer may be held.
  if (state === 'expired' && !(usage !== undefined && isKnown)) return { code, message: 'the payment has expired' }
  // Such a payment would be claimed and stay undecided for as long as its sender chooses.
  if (state === 'unsubmitted' && payment.lastValid > round + maxAheadRounds) {
    return { code, message: 'the payment is not valid yet' }
  }
  if (usage !== undefined && unpaid.has(payment.payer)) {
    const message = 'an earlier payment of this account was withdrawn after the work'
    return { code: 'payer_left_unpaid', message }
  }
  return undefined
}
