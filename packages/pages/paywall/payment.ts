/** Builds the transactions of a payment for a wallet to sign, and the header that carries them. */
import { Bytes, SignedTransaction, Transaction } from '@latchkey/algorand'
import { buildPayment, feePayerOf, PaymentGroup, type PaymentPayload, PaymentSecret } from '@latchkey/x402-wire'
import { PaymentError } from './messages.js'
import { type PaymentRequired, type PaymentRequirement, pageUrl } from './pageData.js'

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

const publicGenesisIds = ['mainnet-v1.0', 'testnet-v1.0', 'betanet-v1.0']
/** Time for the person to sign, possibly on a phone. */
const signingSeconds = 120
/** The limit for all transactions of a payment together. */
const maxFeeMicroAlgos = 10_000n

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

/** Builds the payment of an offer. */
export function unsignedPayment(
  requirement: PaymentRequirement,
  { genesisId, genesisHash, lastRound, minFee, feePerByte }: TransactionParameters,
  payer: string,
): UnsignedPayment {
  const { encoded, paymentIndex, transactionId, totalFeeMicroAlgos } = buildPayment({
    parameters: {
      genesisId,
      genesisHash: Bytes.fromBase64(genesisHash)!,
      lastRound: BigInt(lastRound),
      minFee: BigInt(minFee),
      feePerByte: BigInt(feePerByte),
    },
    isPublicNetwork: publicGenesisIds.includes(genesisId),
    payer,
    payTo: requirement.payTo,
    assetId: BigInt(requirement.asset),
    amount: BigInt(requirement.amount),
    feePayer: feePayerOf(requirement, payer),
    maxTimeoutSeconds: requirement.maxTimeoutSeconds + signingSeconds,
  })
  if (totalFeeMicroAlgos > maxFeeMicroAlgos) throw new PaymentError('fee_too_high')
  return { transactions: encoded, paymentIndex, transactionId }
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
  const { resource, extensions } = required
  const payload = PaymentGroup.toPayload(
    transactions.map((bytes, index) => (index === paymentIndex ? payment : bytes)),
    paymentIndex,
  )
  const unproven = { x402Version: 2, resource, accepted, payload, extensions } as unknown as PaymentPayload
  // The header is stored, and reveals the secret each time it is sent.
  const proven = PaymentSecret.reveal(unproven, PaymentSecret.create().secret)
  return Bytes.toBase64(Bytes.fromUtf8(JSON.stringify(proven)))
}

/** The id of the transaction that a wallet signed, or undefined if the bytes are not a transaction. */
function idOf(signed: Uint8Array): string | undefined {
  try {
    return Transaction.id(SignedTransaction.decode(signed).txn)
  } catch {
    return undefined
  }
}
