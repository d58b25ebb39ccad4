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
  feesInAll: () => 'the fees paid today have reached their limit; buyers can pay their own',
  feesPerPayTo: ({ payTo }) => `the fees paid today for ${payTo} have reached their limit; buyers can pay their own`,
  pendingPerPayer: ({ payer }, { pendingPerPayer }) =>
    `${payer} has ${pendingPerPayer} payments that are not confirmed yet; retry when they are`,
  pendingPerPayTo: ({ payTo }, { pendingPerPayTo }) =>
    `${payTo} has ${pendingPerPayTo} payments that are not confirmed yet; retry when they are`,
}
