/** Has a payment verified or settled by a facilitator. If the facilitator is not trusted, checks a settlement against the ledger. */
import { AlgodError } from '@latchkey/algod'
import type { PaymentPayload, PaymentRequirements, SettleResponse } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import { FacilitatorError } from './FacilitatorClient.js'
import type { Facilitators } from './Facilitators.js'
import { confirmPayment, findCharge, type LedgerPayment, lookUpPayment } from './Payment.js'

export type SettlePaymentOptions = {
  readonly facilitators: Facilitators
  readonly chain: Chain
  readonly payload: PaymentPayload
  readonly requirement: PaymentRequirements
  readonly payment: LedgerPayment
  /** Identifies this gate and the resource to the facilitator. */
  readonly claimant: string
  readonly requestId: string
  /** Whether the payment is already on the ledger. The facilitator then only decides whose it is. */
  readonly isOnLedger: boolean
  /** The round of the payment on the ledger. */
  readonly settledRound?: bigint | undefined
  /** The amount to charge of an authorization, in base units. */
  readonly charge?: bigint | undefined
  readonly onError: (error: unknown) => void
}

export type SettlementResult =
  | {
      readonly state: 'settled'
      readonly receipt: SettleResponse
      /** Undefined if the ledger was not queried, and a trusted facilitator did not report the round. */
      readonly round?: bigint | undefined
    }
  /** The payment will not be settled. */
  | {
      readonly state: 'failed'
      readonly receipt: SettleResponse
      readonly isClaimedElsewhere: boolean
      /** Whether a hook of the seller refused, so that no facilitator was asked. */
      readonly isWithheld?: boolean | undefined
      /** The settlement, if less was charged than the gate asked for. */
      readonly short?: Charge | undefined
    }
  /** Not decided yet. The buyer may send the same payment again. */
  | { readonly state: 'pending'; readonly receipt: SettleResponse; readonly status: 502 | 503 }

/** A charge on the ledger. */
type Charge = { readonly receipt: SettleResponse; readonly round?: bigint | undefined }

/** The facilitator's code for a payment that another gate or another resource has claimed. */
const alreadyClaimed = 'payment_already_claimed'
const maxCodeLength = 100
const maxMessageLength = 500

/** Why a facilitator refuses a payment. */
export type PaymentProblem = {
  readonly code: string
  readonly message: string | undefined
  readonly isClaimedElsewhere: boolean
}

/** Returns the reason why a payment is not valid; undefined if it is. */
export async function verifyPayment({
  facilitators,
  payload,
  requirement,
  claimant,
  requestId,
}: Omit<SettlePaymentOptions, 'chain' | 'isOnLedger' | 'onError'>): Promise<PaymentProblem | undefined> {
  const response = await facilitators.verify(payload, requirement, { claimant, requestId })
  if (response.isValid) return undefined
  const code = truncate(response.invalidReason, maxCodeLength) ?? 'invalid'
  if (code === alreadyClaimed) return { ...usedElsewhere, isClaimedElsewhere: true }
  return { code, message: truncate(response.invalidMessage, maxMessageLength), isClaimedElsewhere: false }
}

const usedElsewhere = { code: 'payment_already_used', message: 'another server has claimed this payment' }

const firstPauseMs = 500
const maxPauseMs = 16_000

/**
 * Settles the charge of a response that was streamed. Its client does not send the payment again, so an undecided
 * settlement is repeated here for about half a minute. The facilitator charges once, however often it is asked.
 *
 * @param isWithdrawn whether the payer can no longer be charged; the settlement is then not repeated
 */
export async function settleStreamed(
  options: SettlePaymentOptions,
  isWithdrawn: () => Promise<boolean>,
): Promise<SettlementResult> {
  for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
    const result = await settlePayment(options)
    if (result.state !== 'pending' || pauseMs > maxPauseMs || (await isWithdrawn())) return result
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

export async function settlePayment(options: SettlePaymentOptions): Promise<SettlementResult> {
  const { facilitators, payload, claimant, requestId, isOnLedger, settledRound, charge, onError } = options
  const requirement = charge === undefined ? options.requirement : { ...options.requirement, amount: `${charge}` }
  try {
    const { response, isTrusted } = await facilitators.settle(payload, requirement, { claimant, requestId })
    // The ledger has such a payment too, so it must not be consulted.
    if (!response.success && response.errorReason === alreadyClaimed) return claimedElsewhere(options)
    if (charge !== undefined) return await chargeResult({ ...options, charge }, response, isTrusted)
    if (isOnLedger) return settled(options, settledRound)
    if (isTrusted) return resultOf(options, response)
    return await (response.success ? checkSuccess(options) : checkFailure(options, response))
  } catch (error) {
    // The payment may be settled although the response was lost. Only its id is then known.
    onError(error)
    if (isOnLedger) return settled(options, settledRound)
    const isProtocolError = error instanceof FacilitatorError && error.code === 'facilitator_protocol_error'
    return pending(options, isProtocolError ? 502 : 503, 'the facilitator does not respond')
  }
}

function settled(
  { payment, requirement }: Pick<SettlePaymentOptions, 'payment' | 'requirement'>,
  round?: bigint | undefined,
): SettlementResult {
  const { transactionId: transaction, payer } = payment
  const { network, amount } = requirement
  return { state: 'settled', receipt: { success: true, transaction, network, payer, amount }, round }
}

function resultOf(options: SettlePaymentOptions, response: SettleResponse): SettlementResult {
  if (response.success) return settled(options, toldRound(response))
  if (response.errorReason === 'settlement_pending') return pending(options, 503, 'the payment is not confirmed yet')
  // For example, the facilitator's store failed. The store may have recorded the payment, and another replica may
  // submit it.
  if (response.errorReason === 'unexpected_settle_error') return pending(options, 503, 'the facilitator failed')
  return failed(options, response)
}

/**
 * The result for an authorization. The facilitator recorded the amount when it was first asked, so that its answer, not
 * the request, says what was charged. The ledger confirms an answer that is not trusted.
 */
async function chargeResult(
  options: SettlePaymentOptions & { readonly charge: bigint },
  response: SettleResponse,
  isTrusted: boolean,
): Promise<SettlementResult> {
  const { chain, payment, onError } = options
  if (!response.success) {
    const isUndecided = /pending|confirmation|unexpected/.test(String(response.errorReason))
    return isUndecided ? pending(options, 503, 'the payment is not confirmed yet') : failed(options, response)
  }
  const { transaction, amount } = response
  const said = typeof amount === 'string' && /^[0-9]{1,20}$/.test(amount) ? BigInt(amount) : undefined
  // A facilitator that charged nothing, although it was asked to, was asked by another party before.
  if (said === 0n) return charged(options, 0n, '')
  if (isTrusted && said !== undefined && said <= payment.authorization!.terms.maxAmount) {
    return charged(options, said, transaction, toldRound(response))
  }
  const isId = typeof transaction === 'string' && /^[A-Z2-7]{52}$/.test(transaction)
  const found = isId ? await findCharge(chain, payment.authorization!, transaction) : undefined
  if (found !== undefined) return charged(options, found.amount, transaction, found.round)
  const message = `the facilitator reports ${payment.transactionId} as settled, but its transfer is not on the ledger`
  onError(new FacilitatorError('facilitator_protocol_error', message))
  return pending(options, 502, 'the facilitator reports the payment as settled, but it is not on the ledger')
}

/** The result of a charge on the ledger. Less than the gate asked for counts as not paid. */
function charged(
  options: SettlePaymentOptions & { readonly charge: bigint },
  amount: bigint,
  transaction: string,
  round?: bigint | undefined,
): SettlementResult {
  const { payment, requirement, charge } = options
  const { payer } = payment
  const { network } = requirement
  const receipt: SettleResponse = { success: true, transaction, network, payer, amount: `${amount}` }
  if (amount >= charge) return { state: 'settled', receipt, round }
  const errorMessage = `another request had ${amount} base units settled, less than the charge of ${charge}`
  const refused = failed(options, { errorReason: usedElsewhere.code, errorMessage } as SettleResponse)
  return { ...refused, short: { receipt, round } } as SettlementResult
}

/** An untrusted facilitator reports success, so the ledger must have the payment. */
async function checkSuccess(options: SettlePaymentOptions): Promise<SettlementResult> {
  const { chain, payment, onError } = options
  const round = await confirmPayment(chain, payment)
  if (round !== undefined) return settled(options, round)
  const message = `the facilitator reports ${payment.transactionId} as settled, but it is not on the ledger`
  onError(new FacilitatorError('facilitator_protocol_error', message))
  return pending(options, 502, 'the facilitator reports the payment as settled, but it is not on the ledger')
}

/** Some facilitators report a failure if they did not see the confirmation, or found the payment already settled. */
async function checkFailure(options: SettlePaymentOptions, response: SettleResponse): Promise<SettlementResult> {
  try {
    const { state, settledRound } = await lookUpPayment(options.chain, options.payment)
    if (state === 'settled') return settled(options, settledRound)
    if (state === 'submitted') return pending(options, 503, 'the payment is not confirmed yet')
  } catch (error) {
    if (!(error instanceof AlgodError)) throw error
    return pending(options, 503, 'no node responds')
  }
  // Reasons of published facilitators that do not mean the payment failed.
  const isUndecided = /pending|confirmation|unexpected/.test(String(response.errorReason))
  return isUndecided ? pending(options, 503, 'the payment is not confirmed yet') : failed(options, response)
}

/** Our facilitator reports the round, in a member that others leave out. */
function toldRound({ extra }: SettleResponse): bigint | undefined {
  const round = extra?.['round']
  return Number.isSafeInteger(round) && Number(round) > 0 ? BigInt(round as number) : undefined
}

function failed(
  { payment, requirement }: SettlePaymentOptions,
  { errorReason, errorMessage }: SettleResponse,
): SettlementResult {
  const receipt: SettleResponse = {
    success: false,
    errorReason: truncate(errorReason, maxCodeLength) ?? 'settlement_failed',
    errorMessage: truncate(errorMessage, maxMessageLength) ?? 'the payment was not settled',
    transaction: payment.transactionId,
    network: requirement.network,
    payer: payment.payer,
  }
  return { state: 'failed', receipt, isClaimedElsewhere: false }
}

function claimedElsewhere(options: SettlePaymentOptions): SettlementResult {
  const reason = { errorReason: usedElsewhere.code, errorMessage: usedElsewhere.message }
  const result = failed(options, reason as SettleResponse)
  return { ...result, isClaimedElsewhere: true } as SettlementResult
}

function pending(options: SettlePaymentOptions, status: 502 | 503, why: string): SettlementResult {
  return { state: 'pending', receipt: pendingReceipt(options, why), status }
}

export function pendingReceipt(
  { payment, requirement }: Pick<SettlePaymentOptions, 'payment' | 'requirement'>,
  why: string,
): SettleResponse {
  return {
    success: false,
    errorReason: 'settlement_pending',
    errorMessage: `${why}; send the same payment again: it is not charged twice`,
    transaction: payment.transactionId,
    network: requirement.network,
    payer: payment.payer,
  }
}

/** A facilitator's text, short enough for a header; undefined if there is none. */
function truncate(text: unknown, length: number): string | undefined {
  return typeof text === 'string' && text !== '' ? text.slice(0, length) : undefined
}
