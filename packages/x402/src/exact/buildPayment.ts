/** The transactions of a payment, ready to be signed by the buyer. */
import { randomBytes } from 'node:crypto'
import type { SuggestedParameters } from '@latchkey/algod'
import { Address, Group, Network, Submission, Transaction } from '@latchkey/algorand'
import { algoAssetId, type Chain } from '../chain/Chain.js'

export type PaymentOrder = {
  chain: Chain
  parameters: SuggestedParameters
  payer: string
  payTo: string
  assetId: bigint
  amount: bigint
  /** Pays the fees, if it is somebody else. */
  feePayer: string | undefined
  maxTimeoutSeconds: number
  maxFeeMicroAlgos: bigint
}

export type BuiltPayment = {
  readonly transactions: readonly Transaction.Transaction[]
  readonly paymentIndex: number
  /** What the buyer itself pays. */
  readonly feeMicroAlgos: bigint
  readonly lastValid: bigint
  readonly transactionId: string
}

/** Rounds have not come faster than this; on a network of one's own they come as they like. */
const shortestRoundSeconds = 2.5
/** The round that is being made, and one that may have passed since the node was asked. */
const roundsToSpare = 3
const maxRounds = 1_000
/** What a signature and its envelope add to a transaction, for fees by the byte. */
const signatureBytes = 75

export function buildPayment(order: PaymentOrder): BuiltPayment {
  const { parameters, payer, payTo, assetId, amount, feePayer } = order
  const lastValid = parameters.lastRound + BigInt(validityRounds(order))
  const common = {
    fv: parameters.lastRound === 0n ? undefined : parameters.lastRound,
    lv: lastValid,
    gen: parameters.genesisId,
    gh: parameters.genesisHash,
  }
  const [snd, receiver] = [Address.decode(payer), Address.decode(payTo)]
  const transfer: Transaction.Transaction =
    assetId === algoAssetId
      ? { ...common, type: 'pay', snd, rcv: receiver, amt: amount, note: note('x402-payment-v2') }
      : { ...common, type: 'axfer', snd, arcv: receiver, aamt: amount, xaid: assetId, note: note('x402-payment-v2') }
  const fee = (txn: Transaction.Transaction): bigint => feeFor(txn, parameters)
  if (feePayer === undefined) {
    const paid = { ...transfer, fee: fee(transfer) }
    checkFee(paid.fee, order)
    return { transactions: [paid], paymentIndex: 0, feeMicroAlgos: paid.fee, lastValid, transactionId: idOf(paid) }
  }
  const sponsor = Address.decode(feePayer)
  const nothing: Transaction.Transaction = {
    ...common,
    type: 'pay',
    snd: sponsor,
    rcv: sponsor,
    note: note('x402-fee-payer'),
  }
  const total = fee(nothing) + fee(transfer)
  checkFee(total, order)
  const transactions = Group.assign([{ ...nothing, fee: total }, transfer])
  return { transactions, paymentIndex: 1, feeMicroAlgos: 0n, lastValid, transactionId: idOf(transactions[1]!) }
}

function idOf(txn: Transaction.Transaction): string {
  return Transaction.id(txn)
}

/** Long enough for the seller to do its work and settle, and not a round longer: it can be settled until then. */
function validityRounds({ chain, maxTimeoutSeconds }: PaymentOrder): number {
  const isPublic = Network.known.some(
    ({ genesisHash }) => Buffer.from(chain.genesisHash).toString('base64') === genesisHash,
  )
  if (!isPublic) return maxRounds
  return Math.min(maxRounds, Math.ceil(maxTimeoutSeconds / shortestRoundSeconds) + roundsToSpare)
}

function feeFor(txn: Transaction.Transaction, { minFee, feePerByte }: SuggestedParameters): bigint {
  const bytes = BigInt(Submission.transactionBytes({ ...txn, grp: new Uint8Array(32).fill(1) }).length + signatureBytes)
  const byBytes = feePerByte * bytes
  return byBytes > minFee ? byBytes : minFee
}

function checkFee(fee: bigint, { maxFeeMicroAlgos }: PaymentOrder): void {
  if (fee > maxFeeMicroAlgos) {
    throw new FeeError(`the network asks ${fee} microAlgos in fees, above the limit of ${maxFeeMicroAlgos}`)
  }
}

/** Makes every payment another transaction, however alike they are. */
function note(kind: string): Uint8Array {
  return new Uint8Array(Buffer.from(`${kind}-${Date.now()}-${randomBytes(9).toString('base64url')}`))
}

export class FeeError extends Error {
  override name = 'FeeError'
}
