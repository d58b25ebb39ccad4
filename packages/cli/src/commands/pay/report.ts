/**
 * Reports the outcome of a payment from the ledger: settled, not settled, or not known yet. Never trusts the seller
 * alone.
 */
import { Amount, Network, Readable } from '@latchkey/algorand'
import {
  type AssetInfo,
  type Buyer,
  type Chain,
  type PassStatus,
  type Payment,
  type PaymentState,
  passOf,
  paymentOf,
  receiptOf,
} from '@latchkey/x402/client'
import { printableJson, quoted } from '../../format.js'
import { printMessage } from '../../messages.js'

/** A payment that was sent, or undefined if none was. */
export type SentPayment = { readonly buyer: Buyer; readonly chain: Chain; readonly payment: Payment | undefined }

export type ReportOptions = {
  readonly isJson: boolean
  /** Whether this is the last report. JSON is printed only then. */
  readonly isFinal: boolean
  /** The state that was already reported, which is not repeated. */
  readonly before?: PaymentState | undefined
}

/** How long to wait for an undecided ledger. */
const waitMs = 5_000
const pollMs = 250

const states = { settled: 'settled', expired: 'not_settled', open: 'not_known_yet' } as const

/** Looks up the payment and prints its outcome. Without a response, the error that follows reports it. */
export async function report(
  { buyer, chain, payment }: SentPayment,
  response: Response | undefined,
  { isJson, isFinal, before }: ReportOptions,
): Promise<PaymentState | undefined> {
  const status = response?.status
  const left = response === undefined ? undefined : passOf(response)
  const pass = { pass: left === undefined ? null : { until: new Date(left.untilMs), requestsLeft: left.requestsLeft } }
  const passText = left === undefined ? undefined : describePass(left)
  if (payment === undefined) {
    if (isJson && isFinal)
      printMessage(printableJson({ status: status ?? null, state: null, payment: null, receipt: null, ...pass }))
    else if (!isJson && !isFinal) {
      const opened = passText === undefined ? '' : `: a pass from an earlier payment was used, ${passText}`
      printMessage(`Nothing was paid${opened} (response status: ${status}).`)
    }
    return undefined
  }
  // The first report does not wait, because the ledger was queried when the response arrived.
  const known = response === undefined ? undefined : paymentOf(response)?.state
  const state = isFinal || known === undefined ? await stateOf(buyer, payment) : known
  // The charge of a price by usage was found on the ledger after the payment was made.
  const { charge } = buyer.payments.get(payment.transactionId) ?? payment
  if (isJson && isFinal) {
    const { transactionId: transaction, amount, asset, payTo, network } = payment
    const receipt = (response === undefined ? undefined : receiptOf(response)) ?? null
    const paid = { transaction, amount, asset, payTo, network, ...(charge === undefined ? {} : { charge }) }
    printMessage(printableJson({ status: status ?? null, state: states[state], payment: paid, receipt, ...pass }))
  } else if (!isJson && response !== undefined && state !== before) {
    printMessage(await describeState(chain, { ...payment, charge }, state, response))
    if (passText !== undefined) printMessage(`The response includes a pass, ${passText}: further requests are free.`)
  }
  return state
}

/** Describes how long and how often the pass is valid. */
function describePass({ untilMs, requestsLeft }: PassStatus): string {
  const until = `until ${Readable.time(untilMs)}`
  if (requestsLeft === undefined) return until
  return `${until}, with ${requestsLeft === 1 ? '1 request' : `${requestsLeft} requests`} left`
}

/** Returns the state on the ledger. It stays unknown if the node does not respond in time. */
async function stateOf(buyer: Buyer, { transactionId }: Payment): Promise<PaymentState> {
  const endMs = performance.now() + waitMs
  const isOver = (): boolean => performance.now() + pollMs > endMs
  for (;;) {
    const limit = new Promise<PaymentState>((resolve) => setTimeout(() => resolve('open'), waitMs).unref())
    const found = buyer.lookUp(transactionId).catch((): PaymentState => 'open')
    const state = await Promise.race([found, limit])
    if (state !== 'open' || isOver()) return state
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

async function describeState(chain: Chain, payment: Payment, state: PaymentState, response: Response): Promise<string> {
  const { transactionId, payTo, network, lastValid } = payment
  const asset = await chain.asset(BigInt(payment.asset)).catch(() => undefined)
  const amount = describeAmount(BigInt(payment.amount), asset, payment.microDollars !== undefined)
  const what = `${amount} to ${payTo} on ${Network.phrase(network)}`
  const answer = describeStatus(response)
  if (transactionId.startsWith('upto-')) return describeCharge({ payment, state, asset, amount, what }) + answer
  if (state === 'settled') return `Paid ${what}: transaction ${transactionId}.${answer}`
  if (state === 'expired') return `Not paid: ${what}; transaction ${transactionId} can no longer be settled.${answer}`
  const next = response.status < 400 ? '' : ` R${again.slice(1)}.`
  return `Payment pending: ${what}; transaction ${transactionId} can be settled until round ${lastValid}.${answer}${next}`
}

type Authorized = {
  readonly payment: Payment
  readonly state: PaymentState
  readonly asset: AssetInfo | undefined
  /** The maximum, as text. */
  readonly amount: string
  /** The maximum, and who may charge it. */
  readonly what: string
}

/** The outcome of a price by usage: the charge, and the maximum that was authorized. */
function describeCharge({ payment, state, asset, amount, what }: Authorized): string {
  const { transactionId, payTo, network, lastValid, charge } = payment
  if (state === 'expired') return `Not paid: up to ${what}; ${transactionId} can no longer be charged.`
  if (charge === undefined) return `Authorized up to ${what}; ${transactionId} can be charged until round ${lastValid}.`
  const charged = describeAmount(BigInt(charge.amount), asset, payment.microDollars !== undefined)
  const by = charge.transactionId === undefined ? transactionId : `transaction ${charge.transactionId}`
  return `Paid ${charged} of up to ${amount} to ${payTo} on ${Network.phrase(network)}: ${by}.`
}

/** The remedy for a payment without an answer. */
export const again = 'run the command again to send the same payment; to make a new one, give --new-payment'

const maxLocationLength = 200

function describeStatus({ status, headers }: Response): string {
  if (status < 300) return ''
  const location = headers.get('Location')
  if (status >= 400 || location === null) return ` The response has status ${status}.`
  const shown = quoted(location.slice(0, maxLocationLength))
  return ` The response has status ${status} and redirects to ${shown}, which was not followed.`
}

/** An amount with its asset's name, which any asset can have, and its id, which is unique. */
export function describeAmount(amount: bigint, asset: AssetInfo | undefined, isDollar: boolean): string {
  if (asset === undefined) return `${Readable.number(amount)} base units`
  const { assetId, decimals, name } = asset
  return `${isDollar ? '$' : ''}${Amount.formatGrouped(amount, decimals)} (${name}, asset ${assetId})`
}
