/** The id under which the ledger knows a settlement. */
import { Submission } from '@latchkey/algorand'
import { UptoPayment } from '@latchkey/x402-wire'
import type { Settlement } from './Settlement.js'

const ids = new WeakMap<Settlement, string>()

/** Whether a settlement belongs to the scheme `upto`. It is then recorded under the id of the buyer's authorization. */
export function isUptoSettlement({ transactionId }: Pick<Settlement, 'transactionId'>): boolean {
  return UptoPayment.isId(transactionId)
}

/**
 * The id of the transaction that pays. The transfer of the scheme `upto` is built when it is settled, so its id follows
 * from the recorded group. Empty if nothing was charged, because there is then no transaction.
 */
export function ledgerIdOf(settlement: Settlement): string {
  if (!isUptoSettlement(settlement)) return settlement.transactionId
  const { group } = settlement
  let id = ids.get(settlement)
  if (id === undefined) {
    id = group.length === 0 ? '' : Submission.decodeFirst(group[group.length - 1]!).id
    ids.set(settlement, id)
  }
  return id
}
