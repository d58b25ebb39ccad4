/** The transactions of a payment, as the scheme `exact` has them, and the header that carries them. */
import algosdk from 'algosdk'
import type { Required, Requirement } from './data.js'
import { PaywallError } from './messages.js'

/** What the seller's own node says of the network. */
export type Parameters = {
  readonly caip2: string
  readonly genesisId: string
  readonly genesisHash: string
  readonly lastRound: number
  readonly minFee: number
  readonly feePerByte: number
}

export type Unsigned = {
  readonly transactions: readonly algosdk.Transaction[]
  readonly paymentIndex: number
  readonly transactionId: string
}

/** Rounds have not come faster than this. */
const shortestRoundSeconds = 2.5
const roundsToSpare = 3
/** People take a while to find the phone on which they sign. */
const signingSeconds = 120
const maxRounds = 1_000
const publicGenesisIds = ['mainnet-v1.0', 'testnet-v1.0', 'betanet-v1.0']
/** For all transactions of a payment together. */
const maxFeeMicroAlgos = 10_000
/** What a signature, its envelope and the group's id add, for fees by the byte. */
const addedBytes = 115

/** Asked for at the paid address itself; no other node is needed, and nobody else is told of the payment. */
export async function askParameters(caip2: string): Promise<Parameters> {
  const url = new URL(location.href)
  url.search = '?x402-page=params'
  const response = await fetch(url, { headers: { Accept: 'application/json' }, cache: 'no-store' }).catch(
    () => undefined,
  )
  if (response === undefined) throw new PaywallError('offline')
  if (!response.ok) throw new PaywallError('unavailable')
  const { networks } = (await response.json()) as { networks: Parameters[] }
  const found = networks.find((one) => one.caip2 === caip2)
  if (found === undefined) throw new PaywallError('unavailable')
  return found
}

export function build(requirement: Requirement, parameters: Parameters, payer: string): Unsigned {
  const { payTo, asset, amount } = requirement
  const common = suggested(requirement, parameters)
  const feePayer = feePayerOf(requirement, payer)
  const transfer = (feeMicroAlgos: number): algosdk.Transaction => {
    const suggestedParams = { ...common, fee: feeMicroAlgos }
    const sent = { sender: payer, receiver: payTo, amount: BigInt(amount), note: note('x402-payment-v2') }
    if (asset === '0') return algosdk.makePaymentTxnWithSuggestedParamsFromObject({ ...sent, suggestedParams })
    return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...sent,
      assetIndex: BigInt(asset),
      suggestedParams,
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

function suggested({ maxTimeoutSeconds }: Requirement, parameters: Parameters) {
  const { genesisId, genesisHash, lastRound, minFee } = parameters
  const rounds = publicGenesisIds.includes(genesisId)
    ? Math.ceil((maxTimeoutSeconds + signingSeconds) / shortestRoundSeconds) + roundsToSpare
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

/** Somebody who pays the fees and is named as ourselves pays nothing for us. */
function feePayerOf({ extra }: Requirement, payer: string): string | undefined {
  const feePayer = extra?.['feePayer']
  const isOther = typeof feePayer === 'string' && algosdk.isValidAddress(feePayer) && feePayer !== payer
  return isOther ? feePayer : undefined
}

function feeFor(txn: algosdk.Transaction, { minFee, feePerByte }: Parameters): number {
  return Math.max(minFee, feePerByte * (algosdk.encodeUnsignedTransaction(txn).length + addedBytes))
}

function checkFee(feeMicroAlgos: number): void {
  if (feeMicroAlgos > maxFeeMicroAlgos) throw new PaywallError('fee')
}

/** Makes every payment another transaction, however alike they are. */
function note(kind: string): Uint8Array {
  const random = crypto.getRandomValues(new Uint8Array(9))
  return new TextEncoder().encode(`${kind}-${Date.now()}-${algosdk.bytesToBase64(random)}`)
}

/** The value of the header PAYMENT-SIGNATURE. Holds a wallet to what it was given: one payment, and no other. */
export function headerOf(
  required: Required,
  accepted: Requirement,
  { transactions, paymentIndex, transactionId }: Unsigned,
  signed: readonly (Uint8Array | null)[],
): string {
  const isIt = (bytes: Uint8Array | null): bytes is Uint8Array =>
    bytes !== null && algosdk.decodeSignedTransaction(bytes).txn.txID() === transactionId
  const payment = signed.find(isIt)
  if (payment === undefined) throw new PaywallError('other-signed')
  const members = transactions.map((txn) => algosdk.encodeUnsignedTransaction(txn))
  members[paymentIndex] = payment
  const payload = {
    x402Version: 2,
    resource: required.resource,
    accepted,
    payload: { paymentGroup: members.map((bytes) => algosdk.bytesToBase64(bytes)), paymentIndex },
    ...(required.extensions === undefined ? {} : { extensions: required.extensions }),
  }
  return algosdk.bytesToBase64(new TextEncoder().encode(JSON.stringify(payload)))
}
