import type { Algod } from '@latchkey/algod'
import type { Payment, PaymentState } from '../store/Payments.js'

/** How many rounds back nodes find a transaction by its id. Blocks are searched for older transactions. */
const lookupRounds = 1_000n
/** How many blocks are requested concurrently. */
const blocksAtOnce = 16n
/** A node this many rounds past a transaction's last valid round has seen it if it was ever confirmed. */
const settledRounds = 2n

/**
 * Finds the state of a payment on the ledger. Returns `expired` only if that is certain: as many nodes as the quorum
 * report that they do not have the payment, and each of them is past its last valid round.
 *
 * @throws AlgodError if no node responds
 */
export async function findPaymentState(
  { transactionId, ...payment }: Pick<Payment, 'transactionId' | 'firstValid' | 'lastValid'>,
  algod: Algod,
): Promise<PaymentState> {
  const [firstValid, lastValid] = [BigInt(payment.firstValid), BigInt(payment.lastValid)]
  // Most payments are already settled when they are looked up.
  if ((await algod.transaction(transactionId)).type === 'confirmed') return 'settled'
  // The round is requested first, so that a transaction confirmed after it is still found.
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
