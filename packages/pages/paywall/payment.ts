/** Builds the transactions of a payment in the scheme `exact`, and the header that carries them. */
import algosdk from 'algosdk'
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
  readonly transactions: readonly algosdk.Transaction[]
  readonly paymentIndex: number
  readonly transactionId: string
}

/** The public networks have not been faster than this. */
const minRoundSeconds = 2.5
const spareRounds = 3
/** Time for the person to sign, possibly on a phone. */
const signingSeconds = 120
const maxRounds = 1_000
const publicGenesisIds = ['mainnet-v1.0', 'testnet-v1.0', 'betanet-v1.0']
/** The limit for all transactions of a payment together. */
const maxFeeMicroAlgos = 10_000
/** The size of a signature, its envelope and the group id, for fees per byte. */
const signatureBytes = 115

/** Fetches the parameters from the seller: the page needs no node, and no third party learns of the payment. */
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
  const common = suggestedParams(requirement, parameters)
  const feePayer = feePayerOf(requirement, payer)
  const transfer = (feeMicroAlgos: number): algosdk.Transaction => {
    const params = { ...common, fee: feeMicroAlgos }
    const sent = { sender: payer, receiver: payTo, amount: BigInt(amount), note: note('x402-payment-v2') }
    if (asset === '0') return algosdk.makePaymentTxnWithSuggestedParamsFromObject({ ...sent, suggestedParams: params })
    return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...sent,
      assetIndex: BigInt(asset),
      suggestedParams: params,
    })
  }
  const fee = feeFor(transfer(0), parameters)
  if (feePayer === undefined) {
    checkFee(fee)
    const payment = transfer(fee)
    return { transactions: [payment], paymentIndex: 0, transactionId: payment.txID() }
  }
  checkFee(2 * fee)
  const sponsor = algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    sender: feePayer,
    receiver: feePayer,
    amount: 0,
    note: note('x402-fee-payer'),
    suggestedParams: { ...common, fee: 2 * fee },
  })
  const transactions = algosdk.assignGroupID([sponsor, transfer(0)])
  return { transactions, paymentIndex: 1, transactionId: transactions[1]!.txID() }
}

function suggestedParams({ maxTimeoutSeconds }: PaymentRequirement, parameters: TransactionParameters) {
  const { genesisId, genesisHash, lastRound, minFee } = parameters
  const rounds = publicGenesisIds.includes(genesisId)
    ? Math.ceil((maxTimeoutSeconds + signingSeconds) / minRoundSeconds) + spareRounds
    : maxRounds
  return {
    firstValid: lastRound,
    lastValid: lastRound + Math.min(maxRounds, rounds),
    genesisID: genesisId,
    genesisHash: algosdk.base64ToBytes(genesisHash),
    minFee,
    flatFee: true,
  }
}

/** The account that pays the network fees, if it is not the payer itself. */
function feePayerOf({ extra }: PaymentRequirement, payer: string): string | undefined {
  const feePayer = extra?.['feePayer']
  const isOther = typeof feePayer === 'string' && algosdk.isValidAddress(feePayer) && feePayer !== payer
  return isOther ? feePayer : undefined
}

function feeFor(txn: algosdk.Transaction, { minFee, feePerByte }: TransactionParameters): number {
  return Math.max(minFee, feePerByte * (algosdk.encodeUnsignedTransaction(txn).length + signatureBytes))
}

function checkFee(feeMicroAlgos: number): void {
  if (feeMicroAlgos > maxFeeMicroAlgos) throw new PaymentError('fee_too_high')
}

/** A random note: two equal payments must not be the same transaction. */
function note(kind: string): Uint8Array {
  const random = crypto.getRandomValues(new Uint8Array(9))
  return new TextEncoder().encode(`${kind}-${Date.now()}-${algosdk.bytesToBase64(random)}`)
}

/** The value of the header PAYMENT-SIGNATURE. Rejects a wallet's result unless it is the payment that was built. */
export function paymentHeader(
  required: PaymentRequired,
  accepted: PaymentRequirement,
  { transactions, paymentIndex, transactionId }: UnsignedPayment,
  signed: readonly (Uint8Array | null)[],
): string {
  const isPayment = (bytes: Uint8Array | null): bytes is Uint8Array =>
    bytes !== null && algosdk.decodeSignedTransaction(bytes).txn.txID() === transactionId
  const payment = signed.find(isPayment)
  if (payment === undefined) throw new PaymentError('wrong_transaction_signed')
  const paymentGroup = transactions.map((txn) => algosdk.encodeUnsignedTransaction(txn))
  paymentGroup[paymentIndex] = payment
  const payload = {
    x402Version: 2,
    resource: required.resource,
    accepted,
    payload: { paymentGroup: paymentGroup.map((bytes) => algosdk.bytesToBase64(bytes)), paymentIndex },
    // The header is kept, and shows the secret each time it is sent.
    ...(required.extensions === undefined ? {} : { extensions: withSecret(required.extensions) }),
  }
  return algosdk.bytesToBase64(new TextEncoder().encode(JSON.stringify(payload)))
}
