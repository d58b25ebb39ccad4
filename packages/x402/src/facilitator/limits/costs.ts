/** The costs of payments for their payers and for the account that pays the fees. */
import { Address, Submission } from '@latchkey/algorand'
import { algoAssetId } from '../../chain/Chain.js'
import type { Settlement } from '../store/Settlements.js'
import type { VerifiedPayment } from '../verify/verifyPayment.js'
import { type Costs, type Reservation, spendable } from './PayerAccount.js'

/** The amount, and the fee that the payer pays. */
export function costsOf({ assetId, amount, group }: VerifiedPayment): Costs {
  const costs = new Map([[assetId, amount]])
  const fee = group.payment.txn.fee ?? 0n
  if (fee > 0n) costs.set(algoAssetId, (costs.get(algoAssetId) ?? 0n) + fee)
  return costs
}

/** Sums the costs that are certain (`held`), and those that may be taken or are already taken (`undecided`). */
export function sumsOf(open: readonly Reservation[], assetId: bigint): { held: bigint; undecided: bigint } {
  let [held, undecided] = [0n, 0n]
  for (const { state, costs } of open) {
    const cost = costs.get(assetId) ?? 0n
    if (state === 'held') held += cost
    else undecided += cost
  }
  return { held, undecided }
}

export function feeBalance({ chain, feePayer }: VerifiedPayment): Promise<bigint> {
  return spendable(chain, feePayer!, algoAssetId)
}

/** The sender of the other transaction: a group is the payment and the transaction that pays its fees. */
export function feePayerOf({ group, payer, feeMicroAlgos }: Settlement): string | undefined {
  if (feeMicroAlgos === 0n) return undefined
  const senders = group.flatMap((bytes) => {
    try {
      return [Address.encode(Submission.decodeFirst(bytes).signed.txn.snd)]
    } catch {
      // Written by another program. The node will refuse it.
      return []
    }
  })
  return senders.find((sender) => sender !== payer)
}
