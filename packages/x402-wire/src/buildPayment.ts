/** Builds the transactions of a payment for the buyer to sign. */
import { Address, Bytes, Group, Json, Network, Transaction } from '@latchkey/algorand'
import { WireError } from './errors.js'
import type { PaymentRequired, PaymentRequirements } from './parsePayment.js'

/** The parameters of new transactions, as a node of the network reports them. */
export type TransactionParameters = {
  readonly genesisHash: Uint8Array
  readonly genesisId: string
  readonly lastRound: bigint
  readonly minFee: bigint
  readonly feePerByte: bigint
}

/** A payment to build: the parties, the amount, and the limit of its fee. */
export type PaymentOrder = {
  parameters: TransactionParameters
  /** Whether the network is public. Other networks may produce rounds faster. */
  isPublicNetwork: boolean
  payer: string
  payTo: string
  assetId: bigint
  amount: bigint
  /** The account that pays the fees; undefined if the payer does. */
  feePayer: string | undefined
  maxTimeoutSeconds: number
}

/** The unsigned transactions of a payment. */
export type BuiltPayment = {
  readonly transactions: readonly Transaction.Transaction[]
  /** The canonical encodings of the transactions, in the same order. */
  readonly encoded: readonly Uint8Array[]
  readonly paymentIndex: number
  /** The fee paid by the payer. */
  readonly feeMicroAlgos: bigint
  /** The fees of all transactions, including the fee payer's. */
  readonly totalFeeMicroAlgos: bigint
  readonly lastValid: bigint
  readonly transactionId: string
}

/** Public networks have not produced rounds faster than this. Local networks may. */
export const minRoundSeconds = 2.5
/** Covers the round in progress and a round that may have passed since the node was queried. */
const spareRounds = 3
const maxRounds = 1_000
/** The bytes that a signature and its envelope add to a transaction, for fees per byte. */
const signatureBytes = 75

/** Builds the payment, after a transaction of the fee payer if there is one. */
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
  const noteOf = newNotes()
  const transfer: Transaction.Transaction =
    assetId === 0n
      ? { ...common, type: 'pay', snd, rcv: receiver, amt: amount, note: noteOf('x402-payment-v2') }
      : { ...common, type: 'axfer', snd, arcv: receiver, aamt: amount, xaid: assetId, note: noteOf('x402-payment-v2') }
  if (feePayer === undefined) {
    const fee = feeFor(transfer, parameters)
    const paid = { ...transfer, fee }
    const bytes = Transaction.encode(paid)
    return {
      transactions: [paid],
      encoded: [bytes],
      paymentIndex: 0,
      feeMicroAlgos: fee,
      totalFeeMicroAlgos: fee,
      lastValid,
      transactionId: Transaction.id(bytes),
    }
  }
  const sponsor = Address.decode(feePayer)
  const feeTransaction: Transaction.Transaction = {
    ...common,
    type: 'pay',
    snd: sponsor,
    rcv: sponsor,
    note: noteOf('x402-fee-payer'),
  }
  const fee = feeFor(feeTransaction, parameters) + feeFor(transfer, parameters)
  const transactions = Group.assign([{ ...feeTransaction, fee }, transfer])
  const encoded = transactions.map(Transaction.encode)
  return {
    transactions,
    encoded,
    paymentIndex: 1,
    feeMicroAlgos: 0n,
    totalFeeMicroAlgos: fee,
    lastValid,
    transactionId: Transaction.id(encoded[1]!),
  }
}

/** Long enough for the seller to respond and settle. Not longer, because the payment can be settled until then. */
export function validityRounds({
  isPublicNetwork,
  maxTimeoutSeconds,
}: Pick<PaymentOrder, 'isPublicNetwork' | 'maxTimeoutSeconds'>): number {
  if (!isPublicNetwork) return maxRounds
  return Math.min(maxRounds, Math.ceil(maxTimeoutSeconds / minRoundSeconds) + spareRounds)
}

function feeFor(txn: Transaction.Transaction, { minFee, feePerByte }: TransactionParameters): bigint {
  // The usual case: the network is not congested.
  if (feePerByte === 0n) return minFee
  const bytes = BigInt(Transaction.encode({ ...txn, grp: new Uint8Array(32).fill(1) }).length + signatureBytes)
  const byBytes = feePerByte * bytes
  return byBytes > minFee ? byBytes : minFee
}

/**
 * Checks the fees of a payment before it is signed.
 *
 * @throws {@link FeeError}
 */
export function checkFee({ totalFeeMicroAlgos }: BuiltPayment, maxFeeMicroAlgos: bigint): void {
  if (totalFeeMicroAlgos > maxFeeMicroAlgos) throw new FeeError(totalFeeMicroAlgos, maxFeeMicroAlgos)
}

/** Makes notes unique, so that two payments of the same amount are different transactions. */
function newNotes(): (kind: string) => Uint8Array {
  const suffix = `${Date.now()}-${Bytes.toBase64Url(Bytes.random(9))}`
  return (kind) => Bytes.fromUtf8(`${kind}-${suffix}`)
}

/** The network asks for a higher fee than the buyer allows. */
export class FeeError extends WireError<'fee_too_high'> {
  override name = 'FeeError'
  readonly feeMicroAlgos: bigint
  readonly maxFeeMicroAlgos: bigint

  constructor(feeMicroAlgos: bigint, maxFeeMicroAlgos: bigint) {
    super(
      'fee_too_high',
      `the network asks for ${feeMicroAlgos} microAlgos in fees, above the limit of ${maxFeeMicroAlgos}`,
    )
    this.feeMicroAlgos = feeMicroAlgos
    this.maxFeeMicroAlgos = maxFeeMicroAlgos
  }
}

/**
 * Returns the account that pays the network fees of an offer, or undefined if the payer does. If the payer itself is
 * named as the fee payer, it pays the fees as if none were named.
 */
export function feePayerOf({ extra }: { readonly extra?: object }, payer: string): string | undefined {
  const { feePayer } = (extra ?? {}) as Json.Members
  const isOther = typeof feePayer === 'string' && Address.isValid(feePayer) && feePayer !== payer
  return isOther ? feePayer : undefined
}

/** Sellers send a price once for each id of its network. These are one offer, in the form that comes first. */
export function withoutSpellings({ accepts }: PaymentRequired): PaymentRequirements[] {
  const seen = new Map<string, PaymentRequirements>()
  for (const requirement of accepts.filter(Json.isObject)) {
    const { network } = requirement
    const normal = typeof network === 'string' ? Network.normalize(network) : undefined
    const key = JSON.stringify({ ...requirement, network: normal ?? network })
    if (!seen.has(key)) seen.set(key, requirement)
  }
  return [...seen.values()]
}
