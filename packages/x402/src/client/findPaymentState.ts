import type { Algod } from '@latchkey/algod'
import type { Payment, PaymentState } from './Payments.js'

/** How many rounds back nodes find a transaction by its id; for older ones the blocks are searched. */
const lookupRounds = 1_000n
/** How many blocks are requested at the same time. */
const blocksAtOnce = 16n
/** A node this many rounds past a transaction's last valid round has seen it if it was ever confirmed. */
const settledRounds = 2n

/**
 * The state of a payment on the ledger; `expired` only where it is certain: as many nodes as the quorum say so, each of
 * which is past the last round in which it is valid.
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
  const isPast = round > lastValid + settledRounds
  const { state, absences } = isPast ? await algod.lookUpEverywhere(transactionId) : await algod.lookUp(transactionId)
  if (state.type === 'confirmed') return 'settled'
  const past = absences.filter((absence) => absence.round > lastValid + settledRounds)
  if (state.type === 'pending' || !isPast || past.length < algod.quorum) return 'open'
  const covering = past.filter((absence) => absence.round - firstValid < lookupRounds)
  if (covering.length >= algod.quorum) return 'expired'
  for (let block = firstValid + 1n; block <= lastValid; block += blocksAtOnce) {
    const last = block + blocksAtOnce - 1n < lastValid ? block + blocksAtOnce - 1n : lastValid
    const rounds = Array.from({ length: Number(last - block) + 1 }, (_, index) => block + BigInt(index))
    const found = await Promise.all(rounds.map((one) => algod.isInBlock(transactionId, one)))
    if (found.includes(true)) return 'settled'
  }
  return 'expired'
}
