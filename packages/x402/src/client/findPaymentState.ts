import type { Algod } from '@latchkey/algod'
import type { Payment, PaymentState } from './Payments.js'

/** How many rounds back nodes find a transaction by its id; for older ones the blocks are searched. */
const lookupRounds = 1_000n
/** How many blocks are requested at the same time. */
const blocksAtOnce = 16n
/** A node this many rounds past a transaction's last valid round has seen it if it was ever confirmed. */
const settledRounds = 2n

/**
 * The state of a payment on the ledger; `expired` only where it is certain.
 *
 * @throws AlgodError if no node responds
 */
export async function findPaymentState(
  { transactionId, ...payment }: Pick<Payment, 'transactionId' | 'firstValid' | 'lastValid'>,
  algod: Algod,
): Promise<PaymentState> {
  const [firstValid, lastValid] = [BigInt(payment.firstValid), BigInt(payment.lastValid)]
  // Most payments are looked up when they are settled.
  if ((await algod.transaction(transactionId)).type === 'confirmed') return 'settled'
  // The round is requested first: a transaction that is confirmed after it is still found.
  const round = await algod.lastRound()
  const found = await algod.transaction(transactionId)
  if (found.type === 'confirmed') return 'settled'
  if (found.type === 'pending' || round <= lastValid + settledRounds) return 'open'
  if (round - firstValid < lookupRounds) return 'expired'
  for (let block = firstValid + 1n; block <= lastValid; block += blocksAtOnce) {
    const last = block + blocksAtOnce - 1n < lastValid ? block + blocksAtOnce - 1n : lastValid
    const rounds = Array.from({ length: Number(last - block) + 1 }, (_, index) => block + BigInt(index))
    const found = await Promise.all(rounds.map((one) => algod.isInBlock(transactionId, one)))
    if (found.includes(true)) return 'settled'
  }
  return 'expired'
}
