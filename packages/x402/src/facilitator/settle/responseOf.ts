import type { PaymentRequirements, SettleResponse } from '@latchkey/x402-wire'
import type { Settlement } from '../store/Settlements.js'

/** The response to a seller about a settlement. */
export function responseOf(settlement: Settlement, network: PaymentRequirements['network']): SettleResponse {
  const { transactionId: transaction, payer, amount, state, round, errorReason, errorMessage } = settlement
  if (state === 'settled') {
    const extra = round === undefined ? {} : { extra: { round: Number(round) } }
    return { success: true, transaction, network, payer, amount, ...extra }
  }
  if (state === 'failed') {
    return { success: false, transaction, network, payer, errorReason: errorReason!, errorMessage: errorMessage! }
  }
  const message =
    'the payment was submitted and is not confirmed yet; send the same payment again: it is not charged twice'
  return { success: false, transaction, network, payer, errorReason: 'settlement_pending', errorMessage: message }
}
