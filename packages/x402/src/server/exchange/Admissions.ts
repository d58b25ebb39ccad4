/**
 * Turns a payment into an admission: claims the payment, has it settled, and holds the handler's answer until the buyer
 * has it.
 */
import * as Tracing from '@latchkey/algod/tracing'
import { Bytes } from '@latchkey/algorand'
import type { PaymentPayload, PaymentRequired, PaymentRequirements, SettleResponse } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import { PartyError } from '../../errors.js'
import { isUpgradeRequest } from '../adapters/upgrade.js'
import type { EventPayment, GateEvents } from '../gate/GateEvents.js'
import { newId } from '../gate/newId.js'
import * as responses from '../gate/responses.js'
import { isSafe } from '../routes/isSafe.js'
import type { ClaimEnd, ClaimLease, ClaimResult, ClaimStore } from '../store/Claims.js'
import type { HeldAnswer } from '../store/HeldAnswer.js'
import type { Admission, Decision } from './Admission.js'
import type { Facilitators } from './Facilitators.js'
import * as LedgerPayment from './LedgerPayment.js'
import { type Lease, Renewals } from './Renewals.js'
import {
  alreadyClaimed,
  maxCodeLength,
  maxMessageLength,
  pendingReceipt,
  type SettlementResult,
  settlePayment,
  truncate,
} from './settlePayment.js'
import { Unfinished } from './Unfinished.js'

/** A request with a payment that matches its route. */
export type PaidRequest = {
  readonly request: Request
  readonly chain: Chain
  /** The payload in the form that facilitators get. */
  readonly payload: PaymentPayload
  readonly requirement: PaymentRequirements
  readonly required: PaymentRequired
  readonly payment: LedgerPayment.LedgerPayment
  readonly binding: string
  readonly proof: ClaimLease['proof']
  readonly claimant: string
  /** The id of the claim store when the claimant was computed. The id changes if the store loses its claims. */
  readonly claimsId: string
  readonly requestId: string
  /** Whether the payment is settled before the handler runs. */
  readonly isSettledFirst: boolean
  readonly isStreamed: boolean
  /** Whether the requirement is not a current one, but that of an earlier claim. The claim must then exist. */
  readonly isOfEarlierClaim: boolean
  readonly refuse: (error: string, message?: string) => Decision
  /** The payment as reported to hooks. */
  readonly event: EventPayment
  /** Returns the headers of the pass that the buyer gets after settlement; undefined if there are no passes. */
  readonly issuePass: (() => Promise<responses.HeaderList>) | undefined
}

export type AdmissionsOptions = {
  readonly facilitators: Facilitators
  readonly claims: ClaimStore
  readonly cors: boolean | readonly string[]
  /** Completes a response of the gate. */
  readonly finish: (request: Request, response: Response) => Response
  readonly events: GateEvents
  readonly onError: (error: unknown) => void
  /** Called when a facilitator reports that another gate has a payment. */
  readonly onClaimedElsewhere: (transactionId: string) => void
}

type Claim = {
  readonly lease: Lease
  readonly result: ClaimResult
  /** Whether the payment is already on the ledger. */
  readonly isOnLedger: boolean
  readonly settledRound: bigint | undefined
}

/** How long a handler may take beyond `maxTimeoutSeconds`, and how long the facilitators may take after that. */
const graceMs = 60_000
const settleMs = 240_000
/** An answer is no longer stored this long before its claim ends, because another request may get the claim. */
const holdMarginMs = 30_000
/** How long a claim is kept after its payment has expired. */
const keepClaimRounds = 1_000n
/** A transaction is valid for at most 1,000 rounds, and a node may lag behind the buyer's node. */
const maxAheadRounds = 2_000n

export class Admissions {
  readonly #options: AdmissionsOptions
  readonly #claims: ClaimStore
  readonly #renewals: Renewals
  readonly #unfinished: Unfinished

  constructor(options: AdmissionsOptions) {
    this.#options = options
    this.#claims = options.claims
    this.#renewals = new Renewals(options)
    this.#unfinished = new Unfinished(options.claims, this.#renewals, options.onError)
  }

  async admit(paid: PaidRequest): Promise<Decision> {
    const { request, chain, payment, refuse, isSettledFirst } = paid
    const { transactionId } = payment
    const { state, round, settledRound } = await LedgerPayment.lookUp(chain, payment)
    if (state === 'expired') return refuse('invalid_exact_avm_payload_validity', 'the payment has expired')
    // Such a payment would be claimed and stay undecided for as long as its sender chooses.
    if (state === 'unsubmitted' && payment.lastValid > round + maxAheadRounds) {
      return refuse('invalid_exact_avm_payload_validity', 'the payment is not valid yet')
    }
    // A payment claimed here was verified before, and would now be refused as already used.
    const isKnown = await this.#claims.has(transactionId)
    // The claim for which the requirement was accepted may have been deleted since.
    const mustBeKnown = isKnown || paid.isOfEarlierClaim
    const isVerified = state === 'unsubmitted' && !isSettledFirst
    const refusal = isVerified && !isKnown ? await this.#verify(paid) : undefined
    if (refusal !== undefined) return refusal
    // A client that has disconnected is not charged.
    if (request.signal.aborted) return refuse('Payment required')
    const claim = {
      ...(await this.#claim(paid, round, state === 'unsubmitted' || isKnown)),
      isOnLedger: state === 'settled',
      settledRound,
    }
    const { result } = claim
    if (result.type === 'taken') return refuse('payment_already_used', 'this payment was already used for a request')
    if (result.type === 'busy') return this.#busy(paid)
    // The facilitator was asked on behalf of the lost claims, and grants what belongs to them.
    if (this.#claims.id !== paid.claimsId) {
      await this.#end(claim, result.type === 'new' ? 'forgotten' : 'open')
      return this.#respond(request, responses.unavailable(503))
    }
    if (result.type === 'new' && (mustBeKnown || state !== 'unsubmitted')) {
      await this.#end(claim, 'forgotten')
      // The claim was deleted since the lookup, or the payment was settled for another server, or for one that lost its
      // claims.
      if (mustBeKnown) return this.#respond(request, responses.unavailable(503))
      return refuse('payment_already_used', 'this payment was settled before it was sent here')
    }
    // A stream whose copy had no room is produced again, like one that is too long for a copy.
    const isMadeAgain = isSafe(request) || paid.isStreamed
    if (result.type === 'held' && (result.answer !== undefined || !isMadeAgain)) {
      return this.#redeliver(paid, claim, result.answer ?? (await this.#lost(paid, claim)))
    }
    if (isVerified && isKnown) {
      const invalid = await this.#verify(paid).catch(async (error: unknown) => {
        await this.#end(claim, 'open')
        throw error
      })
      if (invalid !== undefined) {
        await this.#end(claim, 'open')
        return invalid
      }
    }
    if (isSettledFirst) return this.#settleFirst(paid, claim)
    if (!(await this.#begin(paid, claim))) return this.#busy(paid)
    this.#options.events.verified(paid.event)
    return { type: 'paid', admission: this.#admission(paid, claim, undefined) }
  }

  async #claim(paid: PaidRequest, round: bigint, isSale: boolean): Promise<Pick<Claim, 'lease' | 'result'>> {
    const { chain, requirement, payment, binding, proof } = paid
    const owner = newId()
    const leaseMs = leaseMsOf(requirement)
    const forgetRound = payment.lastValid + keepClaimRounds
    // A payment that was settled elsewhere is refused, and is not a sale here.
    const sale = isSale ? this.#options.events.saleOf(paid.event, 'verified') : undefined
    const lease = { owner, binding, proof, nowMs: Date.now(), leaseMs, network: chain.caip2, round, forgetRound, sale }
    return this.#renewals.claim(payment.transactionId, lease)
  }

  /** Whether the handler may run. A handler that must not run twice is recorded before it begins. */
  async #begin({ request }: PaidRequest, claim: Claim): Promise<boolean> {
    if (isSafe(request)) return true
    try {
      return await this.#renewals.begin(claim.lease)
    } catch (error) {
      await this.#end(claim, 'open')
      throw error
    }
  }

  async #verify(paid: PaidRequest): Promise<Decision | undefined> {
    const { payload, requirement, claimant, requestId, payment, refuse } = paid
    const { facilitators, onClaimedElsewhere } = this.#options
    const about = { claimant, requestId }
    const response = await (Tracing.isOn()
      ? Tracing.span('gate.verify', { kind: 'client' }, () => facilitators.verify(payload, requirement, about))
      : facilitators.verify(payload, requirement, about))
    const { isValid, invalidReason, invalidMessage } = response
    if (isValid) return undefined
    const code = truncate(invalidReason, maxCodeLength) ?? 'invalid'
    if (code !== alreadyClaimed) return refuse(code, truncate(invalidMessage, maxMessageLength))
    onClaimedElsewhere(payment.transactionId)
    return refuse('payment_already_used', 'another server has claimed this payment')
  }

  async #settle(paid: PaidRequest, { isOnLedger, settledRound }: Claim): Promise<SettlementResult> {
    const { facilitators, events, onError, onClaimedElsewhere } = this.#options
    const settling = { ...paid, isOnLedger, settledRound, facilitators, onError }
    const result = await (Tracing.isOn()
      ? Tracing.span('gate.settle', { kind: 'client' }, () => settlePayment(settling))
      : settlePayment(settling))
    if (result.state === 'failed' && result.isClaimedElsewhere) onClaimedElsewhere(paid.payment.transactionId)
    if (result.state === 'settled') events.settled(paid.event, result.round)
    else if (result.state === 'pending') events.pending(paid.event)
    else events.refused(paid.event, { code: result.receipt.errorReason!, message: result.receipt.errorMessage! })
    return result
  }

  async #settleFirst(paid: PaidRequest, claim: Claim): Promise<Decision> {
    if (!this.#renewals.isHeld(claim.lease)) return this.#letGo(paid, claim)
    const result = await this.#settle(paid, claim)
    if (result.state !== 'settled') {
      return this.#respond(paid.request, await this.#notSettled(paid, claim, result))
    }
    // Another request may get the claim before the handler ends.
    if (performance.now() > claim.lease.startMs + settleMs) return this.#letGo(paid, claim)
    if (!(await this.#open(paid, claim))) return this.#busy(paid)
    const headers = await this.#paidHeaders(paid, result.receipt)
    return { type: 'paid', admission: this.#admission(paid, claim, result.receipt, headers) }
  }

  /** Whether the handler may run after the settlement. */
  async #open(paid: PaidRequest, claim: Claim): Promise<boolean> {
    // A payment opens one connection.
    if (isUpgradeRequest(paid.request)) return this.#end(claim, 'served')
    // A stream that breaks is produced again, even after its gate was killed, because the start of its handler is not
    // recorded.
    return paid.isStreamed ? this.#renewals.isHeld(claim.lease) : this.#begin(paid, claim)
  }

  /** Sends the answer of an earlier request after its payment is settled. */
  async #redeliver(paid: PaidRequest, claim: Claim, answer: HeldAnswer): Promise<Decision> {
    const { request } = paid
    if (!this.#renewals.isHeld(claim.lease)) return this.#letGo(paid, claim)
    const result = await this.#settle(paid, claim)
    if (result.state !== 'settled') return this.#respond(request, await this.#notSettled(paid, claim, result))
    if (!(await this.#end(claim, 'served'))) return this.#busy(paid)
    const response = responses.held(answer, await this.#paidHeaders(paid, result.receipt))
    const undelivered = async (): Promise<void> => void (await this.#end(claim, 'open'))
    return { type: 'response', response, undelivered }
  }

  /**
   * Creates the replacement for an answer that no gate has. The replacement is held, so that each repeat gets the same
   * one.
   */
  async #lost(paid: PaidRequest, claim: Claim): Promise<HeldAnswer> {
    const { transactionId } = paid.payment
    const answer = lostAnswer(transactionId)
    const { onError } = this.#options
    onError(
      new PartyError(
        'answer_lost',
        `the response paid for by ${transactionId} was lost, and its handler does not run again`,
      ),
    )
    await this.#hold(claim, answer).catch(onError)
    return answer
  }

  /** Releases the claim to other requests, one of which may already have it. */
  async #letGo(paid: PaidRequest, claim: Claim): Promise<Decision> {
    await this.#end(claim, 'open')
    return this.#busy(paid)
  }

  #busy(paid: PaidRequest): Decision {
    return this.#respond(paid.request, responses.pending(busyReceipt(paid), 503))
  }

  async #notSettled(paid: PaidRequest, claim: Claim, result: SettlementResult): Promise<Response> {
    await this.#end(claim, result.state === 'pending' ? 'open' : 'forgotten')
    if (result.state === 'pending') return responses.pending(result.receipt, result.status)
    return responses.notSettled(result.receipt, paid.required)
  }

  /** @param paidHeaders the headers of the receipt */
  #admission(
    paid: PaidRequest,
    claim: Claim,
    receipt: SettleResponse | undefined,
    paidHeaders: responses.HeaderList = [],
  ): Admission {
    const { request, requirement, payment } = paid
    const { transactionId, payer } = payment
    const isStreamed = paid.isStreamed && receipt !== undefined
    const isUpgrade = isUpgradeRequest(request)
    const handlerEndMs = performance.now() + handlerMs(requirement)
    const cors = responses.corsHeaders(request, this.#options.cors)
    const end = (how: ClaimEnd): Promise<boolean> => this.#end(claim, how)
    const instead = (response: Response) => ({ response: this.#options.finish(request, response) })
    // The work of this handler cannot be undone and must not be repeated, neither after the claim has expired nor
    // without an answer.
    const isOnce = receipt !== undefined && !isStreamed && !isSafe(request)
    let isLost = false
    const onLost = (): void => {
      isLost = true
    }
    const lose = async (): Promise<void> =>
      void (await this.#hold(claim, lostAnswer(transactionId)).catch(this.#options.onError))
    // A stream that runs longer than its claim does not open a second one.
    const onSlow = isStreamed && !isUpgrade ? () => void end('served') : isOnce ? lose : undefined
    const slow = onSlow === undefined ? undefined : setTimeout(onSlow, handlerMs(requirement))
    slow?.unref?.()
    let isOver = false
    let onOver = (): void => {}
    const over = (): boolean => {
      const wasOver = isOver
      isOver = true
      clearTimeout(slow)
      onOver()
      return wasOver
    }
    const cancel = async (): Promise<void> => {
      // A payment that was sent before may be on the ledger now or later, so its claim is kept.
      if (over()) return
      if (receipt === undefined) this.#cancelled(paid, claim)
      await end(receipt !== undefined || claim.result.type !== 'new' ? 'open' : 'forgotten')
    }
    const settle: Admission['settle'] = async (answer) => {
      if (receipt === undefined && performance.now() > handlerEndMs) await cancel()
      if (over()) return instead(responses.json(504, { error: receipt === undefined ? tooLate : tooLateSettled }))
      // Another request has the claim, and its answer is the one that counts.
      const taken = () => instead(responses.pending(busyReceipt(paid), 503))
      if (receipt !== undefined) {
        const isOwn = await this.#hold(claim, answer).catch((error: unknown) => {
          this.#options.onError(error)
          // The answer would be lost if the store and the buyer were both unreachable.
          if (isOnce && answer !== undefined) this.#holdLater(paid, claim, answer, onLost)
          return true
        })
        return isOwn && (await end('served')) ? { headers: paidHeaders } : taken()
      }
      try {
        if (!(await this.#hold(claim, answer))) return taken()
      } catch (error) {
        // Nothing is charged for an answer that would be lost with the connection.
        this.#options.onError(error)
        this.#cancelled(paid, claim)
        await end(claim.result.type === 'new' ? 'forgotten' : 'open')
        return instead(responses.unavailable(503))
      }
      const result = await this.#settle(paid, claim)
      if (result.state !== 'settled') return instead(await this.#notSettled(paid, claim, result))
      if (!(await end('served'))) return taken()
      return { headers: await this.#paidHeaders(paid, result.receipt) }
    }
    const waitForEnd = async (): Promise<void> => {
      if (isOver || isUpgrade) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(0, handlerEndMs - performance.now()))
        timer.unref?.()
        onOver = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      if (isOver) return
      if (isSafe(request) || isStreamed) return cancel()
      over()
      await lose()
      await end('open')
    }
    let ended: Promise<void> | undefined
    const disconnected = (): Promise<void> => {
      ended ??= waitForEnd()
      return ended
    }
    const headers = receipt === undefined ? cors : paidHeaders
    const undelivered = async (): Promise<void> => {
      if (!isLost) await end('open')
    }
    return {
      payer,
      transactionId,
      payment: () => paid.event.status.current,
      settled: receipt,
      isStreamed,
      headers,
      settle,
      cancel,
      disconnected,
      undelivered,
    }
  }

  /** A payment that was sent before may be on the ledger now or later, although its handler failed this time. */
  #cancelled({ event }: PaidRequest, { result, isOnLedger, settledRound }: Claim): void {
    const { events } = this.#options
    if (isOnLedger) events.settled(event, settledRound)
    else if (result.type === 'new') events.cancelled(event)
    else events.pending(event)
  }

  /** @returns false if another request has the claim */
  async #hold({ lease }: Claim, answer: HeldAnswer | undefined): Promise<boolean> {
    if (answer === undefined) return true
    const { transactionId, owner, fence } = lease
    const held = { ...answer, headers: responses.heldHeaders(answer.headers) }
    return (await this.#claims.hold(transactionId, owner, held, fence)) !== false
  }

  #holdLater({ requirement }: PaidRequest, { lease }: Claim, answer: HeldAnswer, onLost: () => void): void {
    const untilMs = lease.startMs + leaseMsOf(requirement) - holdMarginMs
    const held = { ...answer, headers: responses.heldHeaders(answer.headers) }
    this.#unfinished.holdLater(lease, { answer: held, untilMs, onLost })
  }

  /**
   * Never throws, because a settled payment must be answered even if the store fails.
   *
   * @returns false if another request has the claim, or may have it; the answer must then not be sent
   */
  #end({ lease }: Claim, end: ClaimEnd): Promise<boolean> {
    return this.#unfinished.finish(lease, end)
  }

  async #paidHeaders({ request, issuePass }: PaidRequest, receipt: SettleResponse): Promise<responses.HeaderList> {
    const headers = [...responses.paidHeaders(receipt), ...responses.corsHeaders(request, this.#options.cors)]
    return issuePass === undefined ? headers : [...headers, ...(await issuePass())]
  }

  #respond(request: Request, response: Response): Decision {
    return { type: 'response', response: this.#options.finish(request, response) }
  }
}

const tooLate = 'the payment expired before the handler finished; nothing was charged'
const tooLateSettled = 'the handler took too long; the payment is settled'

function handlerMs({ maxTimeoutSeconds }: PaymentRequirements): number {
  return maxTimeoutSeconds * 1000 + graceMs
}

function leaseMsOf(requirement: PaymentRequirements): number {
  return handlerMs(requirement) + settleMs
}

function busyReceipt({ payment, requirement }: PaidRequest): SettleResponse {
  return pendingReceipt({ payment, requirement }, 'an earlier request with this payment is being served')
}

function lostAnswer(transaction: string): HeldAnswer {
  const message = 'the request was started, but its response was lost; it does not run again and is not charged again'
  const body = Bytes.fromUtf8(`${JSON.stringify({ error: 'response_lost', message, transaction })}\n`)
  return { status: 500, headers: [['Content-Type', 'application/json']], body }
}
