/** The errors that a buyer gets if a payment exceeds a limit of all replicas. */

import { PaymentError } from '../PaymentError.js'
import type { SettlementLimits } from '../store/SettlementLimits.js'
import type { Settlement } from '../store/Settlements.js'

type Limited = {
  readonly payment: Pick<Settlement, 'payer' | 'payTo'>
  readonly limits: SettlementLimits
  /** Whether the seller may already have done the work. The error then asks for a retry. */
  readonly isVerified?: boolean
}

/** Whether a payment may pass this limit shortly. Fee limits recover only after hours. */
export function isTemporary(limit: keyof SettlementLimits): boolean {
  return limit !== 'feesInAll' && limit !== 'feesPerPayTo'
}

export function limitError(limit: keyof SettlementLimits, { payment, limits, isVerified = false }: Limited) {
  const isRate = limit === 'payerPerMinute' || limit === 'payToPerMinute'
  const isBusy = isTemporary(limit) && (!isRate || isVerified)
  return new PaymentError(isBusy ? 'facilitator_busy' : 'facilitator_policy_refused', texts[limit](payment, limits))
}

const texts: {
  readonly [limit in keyof SettlementLimits]-?: (payment: Limited['payment'], limits: SettlementLimits) => string
} = {
  payerPerMinute: ({ payer }, { payerPerMinute }) => `more than ${payerPerMinute} payments per minute from ${payer}`,
  payToPerMinute: ({ payTo }, { payToPerMinute }) => `more than ${payToPerMinute} payments per minute for ${payTo}`,
  feesInAll: () => 'the daily limit for fees is reached; buyers can pay their own',
  feesPerPayTo: ({ payTo }) => `the daily limit for fees of payments to ${payTo} is reached; buyers can pay their own`,
  pendingPerPayer: ({ payer }, { pendingPerPayer }) =>
    `${payer} has ${pendingPerPayer} unconfirmed payments; retry when they are confirmed`,
  pendingPerPayTo: ({ payTo }, { pendingPerPayTo }) =>
    `${payTo} has ${pendingPerPayTo} unconfirmed payments; retry when they are confirmed`,
}
