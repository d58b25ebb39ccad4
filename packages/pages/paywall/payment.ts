/** Builds the transactions of a payment in the scheme `exact`, and the header that carries them. */
import { Address, Bytes, Group, SignedTransaction, Transaction } from '@latchkey/algorand'
import { PaymentError } from './messages.js'
import { type PaymentRequired, type PaymentRequirement, pageUrl } from './pageData.js'
import { withSecret } from './paymentSecret.js'

/** Transaction parameters from the seller's node. */
export type TransactionParameters = {
  readonly caip2: string
  readonly genesisId: string
  readonly genesisHash: string
  readonly lastRound: number
  readonly minFee: number
  readonly feePerByte: number
}

export type UnsignedPayment = {
  /** In their canonical encoding. */
  readonly transactions: readonly Uint8Array[]
  readonly paymentIndex: number
  readonly transactionId: string
}

/** No public network has been faster than this. */
const minRoundSeconds = 2.5
const spareRounds = 3
/** Time for the person to sign, possibly on a phone. */
const signingSeconds = 120
const maxRounds = 1_000
const publicGenesisIds = ['mainnet-v1.0', 'testnet-v1.0', 'betanet-v1.0']
/** The limit for all transactions of a payment together. */
const maxFeeMicroAlgos = 10_000n
/** The size of a signature, its envelope and the group id, for fees per byte. */
const signatureBytes = 115

/** Fetches the parameters from the seller, so the page needs no node, and no third party learns of the payment. */
export async function fetchParameters(caip2: string): Promise<TransactionParameters> {
  const url = new URL(pageUrl)
  url.search = '?x402-page=params'
  const response = await fetch(url, { headers: { Accept: 'application/json' }, cache: 'no-store' }).catch(
    () => undefined,
  )
  if (response === undefined) throw new PaymentError('seller_unreachable')
  if (!response.ok) throw new PaymentError('seller_unavailable')
  const { networks } = (await response.json()) as { networks: TransactionParameters[] }
  const found = networks.find((one) => one.caip2 === caip2)
  if (found === undefined) throw new PaymentError('seller_unavailable')
  return found
}

export function buildPayment(
  requirement: PaymentRequirement,
  parameters: TransactionParameters,
  payer: string,
): UnsignedPayment {
  const { payTo, asset, amount } = requirement
  const common = commonFields(requirement, parameters)
  const [snd, receiver] = [Address.decode(payer), Address.decode(payTo)]
  const sent = { ...common, snd, note: note('x402-payment-v2') }
  const transfer: Transaction.Transaction =
    asset === '0'
      ? { ...sent, type: 'pay', rcv: receiver, amt: BigInt(amount) }
      : { ...sent, type: 'axfer', arcv: receiver, aamt: BigInt(amount), xaid: BigInt(asset) }
  const fee = feeFor(transfer, parameters)
  const feePayer = feePayerOf(requirement, payer)
  if (feePayer === undefined) {
    checkFee(fee)
    return unsigned([{ ...transfer, fee }], 0)
  }
  checkFee(2n * fee)
  const sponsor = Address.decode(feePayer)
  const feeTransaction: Transaction.Transaction = {
    ...common,
    type: 'pay',
    snd: sponsor,
    rcv: sponsor,
    fee: 2n * fee,
    note: note('x402-fee-payer'),
  }
  return unsigned(Group.assign([feeTransaction, transfer]), 1)
}

function unsigned(transactions: readonly Transaction.Transaction[], paymentIndex: number): UnsignedPayment {
  const encoded = transactions.map((transaction) => Transaction.encode(transaction))
  return { transactions: encoded, paymentIndex, transactionId: Transaction.id(encoded[paymentIndex]!) }
}

function commonFields({ maxTimeoutSeconds }: PaymentRequirement, parameters: TransactionParameters) {
  const { genesisId, genesisHash, lastRound } = parameters
  const rounds = publicGenesisIds.includes(genesisId)
    ? Math.ceil((maxTimeoutSeconds + signingSeconds) / minRoundSeconds) + spareRounds
    : maxRounds
  return {
    fv: BigInt(lastRound),
    lv: BigInt(lastRound + Math.min(maxRounds, rounds)),
    gen: genesisId,
    gh: Bytes.fromBase64(genesisHash)!,
  }
}

/** The account that pays the network fees, if it is not the payer itself. */
function feePayerOf({ extra }: PaymentRequirement, payer: string): string | undefined {
  const feePayer = extra?.['feePayer']
  const isOther = typeof feePayer === 'string' && Address.isValid(feePayer) && feePayer !== payer
  return isOther ? feePayer : undefined
}

function feeFor(transaction: Transaction.Transaction, { minFee, feePerByte }: TransactionParameters): bigint {
  return BigInt(Math.max(minFee, feePerByte * (Transaction.encode(transaction).length + signatureBytes)))
}

function checkFee(feeMicroAlgos: bigint): void {
  if (feeMicroAlgos > maxFeeMicroAlgos) throw new PaymentError('fee_too_high')
}

/** A random note, because two equal payments must not be the same transaction. */
function note(kind: string): Uint8Array {
  return Bytes.fromUtf8(`${kind}-${Date.now()}-${Bytes.toBase64(Bytes.random(9))}`)
}

/** The value of the header PAYMENT-SIGNATURE. Rejects a wallet's result unless it is the payment that was built. */
export function paymentHeader(
  required: PaymentRequired,
  accepted: PaymentRequirement,
  { transactions, paymentIndex, transactionId }: UnsignedPayment,
  signed: readonly (Uint8Array | null | undefined)[],
): string {
  const payment = signed.find((bytes) => bytes instanceof Uint8Array && idOf(bytes) === transactionId)
  if (!payment) throw new PaymentError('wrong_transaction_signed')
  const paymentGroup = [...transactions]
  paymentGroup[paymentIndex] = payment
  const payload = {
    x402Version: 2,
    resource: required.resource,
    accepted,
    payload: { paymentGroup: paymentGroup.map((bytes) => Bytes.toBase64(bytes)), paymentIndex },
    // The header is stored, and reveals the secret each time it is sent.
    ...(required.extensions === undefined ? {} : { extensions: withSecret(required.extensions) }),
  }
  return Bytes.toBase64(Bytes.fromUtf8(JSON.stringify(payload)))
}

/** The id of the transaction that a wallet signed, or undefined if the bytes are not a transaction. */
function idOf(signed: Uint8Array): string | undefined {
  try {
    return Transaction.id(SignedTransaction.decode(signed).txn)
  } catch {
    return undefined
  }
}
