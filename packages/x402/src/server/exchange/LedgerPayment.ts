/**
 * Checks that the gate makes without trusting a facilitator: whether a payment matches its requirement, and whether it
 * is on the ledger.
 */

import { AlgodError } from '@latchkey/algod'
import { Address, Bytes } from '@latchkey/algorand'
import { PaymentGroup, type PaymentPayload, type PaymentRequirements } from '@latchkey/x402-wire'
import { algoAssetId, type Chain, parseAssetId } from '../../chain/Chain.js'

export type LedgerPayment = {
  readonly transactionId: string
  readonly payer: string
  readonly firstValid: bigint
  readonly lastValid: bigint
}

export type LedgerStatus = {
  /** `submitted`: pending in a node. `expired`: not on the ledger, and can never be. */
  readonly state: 'unsubmitted' | 'submitted' | 'settled' | 'expired'
  /** The current round. */
  readonly round: bigint
  /** The round of the settlement. */
  readonly settledRound?: bigint | undefined
}

/** How long a node may lag behind the node that settled a payment. */
const lagMs = 10_000
const firstWaitMs = 100
const maxWaitMs = 1_000

/** Returns the payment in a payload, or the reason why it does not match the requirement. */
export function parse(payload: PaymentPayload, requirement: PaymentRequirements, chain: Chain): LedgerPayment | string {
  let payment: ReturnType<typeof PaymentGroup.readPayment>
  try {
    payment = PaymentGroup.readPayment(payload.payload)
  } catch (error) {
    if (error instanceof PaymentGroup.GroupError) return error.message
    throw error
  }
  const { txn, sender, transactionId } = payment
  const isAlgo = parseAssetId(requirement.asset) === algoAssetId
  if (txn.gh === undefined || !Bytes.equal(txn.gh, chain.genesisHash)) return 'the payment is for another network'
  if (txn.type !== (isAlgo ? 'pay' : 'axfer')) return 'the payment does not transfer the asset'
  if (!isAlgo && txn.xaid?.toString() !== requirement.asset) return 'the payment is in another asset'
  const [receiver, amount = 0n] = isAlgo ? [txn.rcv, txn.amt] : [txn.arcv, txn.aamt]
  if (receiver === undefined || Address.encode(receiver) !== requirement.payTo) {
    return 'the payment is to another account'
  }
  if (amount.toString() !== requirement.amount) return `the payment is ${amount} base units`
  return { transactionId, payer: sender, firstValid: txn.fv ?? 0n, lastValid: txn.lv ?? 0n }
}

/** Looks up a payment. Throws an AlgodError if no node responds, or too few to confirm that the payment has expired. */
export async function lookUp(
  chain: Chain,
  { transactionId, lastValid }: Pick<LedgerPayment, 'transactionId' | 'lastValid'>,
): Promise<LedgerStatus> {
  const found = await chain.algod.transaction(transactionId)
  const { lastRound: round } = await chain.parameters()
  if (found.type === 'confirmed') return { state: 'settled', round, settledRound: found.round }
  if (found.type === 'pending') return { state: 'submitted', round }
  if (round <= lastValid) return { state: 'unsubmitted', round }
  return { ...(await decideExpired(chain, transactionId, lastValid)), round }
}

/**
 * Decides about a payment that was not found. A quorum of nodes, each past its last valid round, must confirm the
 * expiry.
 */
async function decideExpired(
  { algod }: Chain,
  transactionId: string,
  lastValid: bigint,
): Promise<Omit<LedgerStatus, 'round'>> {
  const { state, absences } = await algod.lookUpEverywhere(transactionId)
  if (state.type === 'confirmed') return { state: 'settled', settledRound: state.round }
  if (state.type === 'pending') return { state: 'submitted' }
  const count = absences.filter(({ round }) => round > lastValid).length
  if (count >= algod.quorum) return { state: 'expired' }
  throw new AlgodError('no_quorum', `${count} of ${algod.quorum} nodes report that the payment has expired`)
}

/**
 * The round of a payment's settlement, after the node had time to catch up; undefined if the payment is not on the
 * ledger.
 */
export async function confirm(chain: Chain, { transactionId }: LedgerPayment): Promise<bigint | undefined> {
  const endMs = performance.now() + lagMs
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, maxWaitMs)) {
    const round = await roundOf(chain, transactionId)
    if (round !== undefined) return round
    if (performance.now() + waitMs > endMs) return undefined
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

/** The round of a transaction's confirmation; undefined if no node knows it now. */
export async function roundOf(chain: Chain, transactionId: string): Promise<bigint | undefined> {
  try {
    const found = await chain.algod.transaction(transactionId)
    return found.type === 'confirmed' ? found.round : undefined
  } catch (error) {
    if (error instanceof AlgodError) return undefined
    throw error
  }
}
