/** What became of a payment, by the ledger: settled, not settled, or not known yet. Never by the seller's word alone. */
import { Amount, Network } from '@latchkey/algorand'
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

/** A payment that was sent; undefined if none was. */
export type Sent = { readonly buyer: Buyer; readonly chain: Chain; readonly payment: Payment | undefined }

export type ReportOptions = {
  readonly isJson: boolean
  /** Whether nothing is reported after it: JSON is printed then, and only then. */
  readonly isFinal: boolean
  /** What was reported before, which is not repeated. */
  readonly before?: PaymentState | undefined
}

/** How long to wait for a ledger that has not decided. */
const waitMs = 5_000
const pollMs = 250

const states = { settled: 'settled', expired: 'not_settled', open: 'not_known_yet' } as const

/** Looks the payment up and prints what became of it. Without a response, that is for the error that follows to say. */
export async function report(
  { buyer, chain, payment }: Sent,
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
      const opened = passText === undefined ? '' : `: a pass of an earlier payment opens it, ${passText}`
      printMessage(`Nothing was paid${opened} (response status: ${status}).`)
    }
    return undefined
  }
  // The first report does not wait: the response is there, and the ledger was asked when it came.
  const known = response === undefined ? undefined : paymentOf(response)?.state
  const state = isFinal || known === undefined ? await stateOf(buyer, payment) : known
  if (isJson && isFinal) {
    const { transactionId: transaction, amount, asset, payTo, network } = payment
    const receipt = (response === undefined ? undefined : receiptOf(response)) ?? null
    const paid = { transaction, amount, asset, payTo, network }
    printMessage(printableJson({ status: status ?? null, state: states[state], payment: paid, receipt, ...pass }))
  } else if (!isJson && response !== undefined && state !== before) {
    printMessage(await describeState(chain, payment, state, response))
    if (passText !== undefined) printMessage(`Run it again for nothing: the response has a pass, ${passText}.`)
  }
  return state
}

/** How long, and how often. */
function describePass({ untilMs, requestsLeft }: PassStatus): string {
  const until = `until ${new Date(untilMs).toISOString()}`
  if (requestsLeft === undefined) return until
  return `${until}, with ${requestsLeft === 1 ? '1 request' : `${requestsLeft} requests`} left`
}

/** By the ledger, as far as it can be asked in time: a node that does not respond leaves it unknown. */
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
  if (state === 'settled') return `Paid ${what}: transaction ${transactionId}.${answer}`
  if (state === 'expired') return `Not paid: ${what}; transaction ${transactionId} can no longer be settled.${answer}`
  const next = response.status < 400 ? '' : ` R${again.slice(1)}.`
  return `Not known yet whether ${what} is paid: transaction ${transactionId} can be settled until round ${lastValid}.${answer}${next}`
}

/** What to do about a payment without an answer. */
export const again = 'run it again: the same payment is sent, not a new one; --new-payment makes a new one'

const maxLocationLength = 200

function describeStatus({ status, headers }: Response): string {
  if (status < 300) return ''
  const location = headers.get('Location')
  if (status >= 400 || location === null) return ` The response has status ${status}.`
  const shown = quoted(location.slice(0, maxLocationLength))
  return ` The response has status ${status} and redirects to ${shown}, which was not followed.`
}

/** An amount with the name of its asset, which any asset can have, and the id, which only one has. */
export function describeAmount(amount: bigint, asset: AssetInfo | undefined, isDollar: boolean): string {
  if (asset === undefined) return `${amount} base units`
  const { assetId, decimals, name } = asset
  return `${isDollar ? '$' : ''}${Amount.format(amount, decimals)} (${name}, asset ${assetId})`
}
