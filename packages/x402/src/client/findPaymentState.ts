/** What became of a payment, by the ledger. */
import type { Algod } from '@latchkey/algod'
import type { Payment, PaymentState } from './Payments.js'

/** How many rounds back nodes find a transaction by its id; beyond that its block has to be looked for. */
const lookupRounds = 1_000n
/** A node that has come this far beyond a transaction's last round has seen it if it ever came. */
const settledRounds = 2n

/** `expired` only where it is certain. Throws a NodeError where the nodes do not tell. */
export async function findPaymentState({ transactionId, ...payment }: Payment, algod: Algod): Promise<PaymentState> {
  const [firstValid, lastValid] = [BigInt(payment.firstValid), BigInt(payment.lastValid)]
  // The round first: what came in after it was told is still found.
  const round = await algod.lastRound()
  const found = await algod.transaction(transactionId)
  if (found.type === 'confirmed') return 'settled'
  if (found.type === 'pending' || round <= lastValid + settledRounds) return 'open'
  if (round - firstValid < lookupRounds) return 'expired'
  for (let block = firstValid + 1n; block <= lastValid; block++) {
    if (await algod.isInBlock(transactionId, block)) return 'settled'
  }
  return 'expired'
}
