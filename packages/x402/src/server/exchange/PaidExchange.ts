/**
 * A paid request, from its payment to the delivery of its answer: a state machine. `transitions.ts` lists its states
 * and the function for each transition. The table in docs/architecture.md explains them, with the row of the claim that
 * remains if the gate is killed in a state. Transitions exclude each other: the state changes before the first `await`
 * of a function that the handler, the client or a timer may call. The stores fence off other gates.
 */
import * as Tracing from '@latchkey/algod/tracing'
import type { SettleResponse } from '@latchkey/x402-wire'
import { PartyError } from '../../errors.js'
import type { CancelReason } from '../gate/DecidingHooks.js'
import * as responses from '../gate/responses.js'
import type { HeldAnswer, StoredPurchase } from '../store/Claims.js'
import type { Admission, Decision, GateResponse } from './Admission.js'
import { ExchangeClaim } from './ExchangeClaim.js'
import type { ExchangeOutcome, ExchangeParts } from './ExchangeParts.js'
import { HandlerTime } from './HandlerTime.js'
import { chargedOf, MeteredCharge } from './MeteredCharge.js'
import {
  handlerMs,
  holdMarginMs,
  ledgerProblem,
  leftUnpaid,
  type PaidRequest,
  settleMs,
  validityProblem,
} from './PaidRequest.js'
import { type LedgerStatus, lookUpPayment } from './Payment.js'
import { PaymentHooks } from './PaymentHooks.js'
import { pendingReceipt, settlePayment, settleStreamed, verifyPayment } from './settlePayment.js'
import { nextStates, type State } from './transitions.js'
import { invalidCharge, UsageError, withoutCharge } from './Usage.js'

export class PaidExchange {
  readonly #gate: ExchangeParts
  readonly #paid: PaidRequest
  readonly #hooks: PaymentHooks | undefined
  /** Undefined for a fixed price. */
  readonly #metered: MeteredCharge | undefined
  #state: State = 'offered'
  /** Set by `verify`. */
  #ledger!: LedgerStatus
  /** Whether the payment was claimed here before. */
  #isKnown = false
  /** The claim of this request. Set by `claim`. */
  #own!: ExchangeClaim
  /** Why `claim` found no claim for this request. */
  #taken: 'taken' | StoredPurchase | undefined
  #isVerified = false
  /** Set by `settle`. */
  #receipt: SettleResponse | undefined
  /** The headers of the receipt, if the payment was settled before the handler runs. */
  #paidHeaders: responses.HeaderList = []
  readonly #time: HandlerTime
  #disconnection: Promise<void> | undefined

  constructor(gate: ExchangeParts, paid: PaidRequest) {
    this.#gate = gate
    this.#paid = paid
    this.#metered = MeteredCharge.of(gate, paid)
    this.#time = new HandlerTime(handlerMs(paid))
    this.#hooks = gate.hooks && new PaymentHooks(gate.hooks, paid, gate.onError)
  }

  /** Needed for a purchase that the buyer named. */
  get outcome(): ExchangeOutcome {
    const isExpired = this.#ledger?.state === 'expired'
    const isTaken = this.#taken === 'taken'
    const obstacle = this.#state === 'busy' ? 'busy' : isExpired ? 'expired' : isTaken ? 'taken' : undefined
    const purchase = this.#taken === 'taken' ? undefined : this.#taken
    return { purchase, isVerified: this.#isVerified, obstacle }
  }

  decide(): Promise<Decision> {
    return this.#hooks === undefined ? this.#decide() : this.#hooks.decide(() => this.#decide())
  }

  async #decide(): Promise<Decision> {
    const refusal = (await this.#verify()) ?? (await this.#claim()) ?? (await this.#check())
    if (refusal !== undefined) return refusal
    if (this.#isAnswered) return this.#redeliver()
    const problem = (this.#paid.isSettledFirst ? await this.#settle() : undefined) ?? (await this.#start())
    if (problem !== undefined) return problem
    if (this.#receipt !== undefined) this.#paidHeaders = await this.#headersOf(this.#receipt)
    return { type: 'paid', admission: this.#admission() }
  }

  /** Looks the payment up on the ledger, and has a new one verified by a facilitator. Nothing is stored yet. */
  async #verify(): Promise<GateResponse | undefined> {
    const { chain, payment } = this.#paid
    this.#ledger = await lookUpPayment(chain, payment)
    this.#isKnown = await this.#gate.claims.has(payment.transactionId)
    const invalid = ledgerProblem(this.#ledger, this.#paid, this.#isKnown) ?? (await this.#metered?.payerProblem())
    if (invalid !== undefined) return this.#refuse(invalid.code, invalid.message)
    // A payment claimed here was verified before, and would now be refused as already used.
    if (this.#isKnown || !this.#isAsked) return undefined
    const problem = await this.#askFacilitator()
    if (problem !== undefined) return this.#refuse(problem.code, problem.message)
    if (this.#isVerifiable) {
      this.#isVerified = true
      this.#enter('verified')
    }
    return undefined
  }

  /** Stores the claim, so that the payment opens no other request. */
  async #claim(): Promise<GateResponse | undefined> {
    // A client that has disconnected is not charged.
    if (this.#paid.request.request.signal.aborted) return this.#refuse('Payment required')
    const result = await ExchangeClaim.take(this.#gate, this.#paid, { ...this.#ledger, isKnown: this.#isKnown })
    if (result instanceof ExchangeClaim) {
      this.#enter('claimed')
      this.#own = result
      return undefined
    }
    if (result.type === 'purchased') {
      this.#taken = result.purchase
      this.#enter('refused')
      return this.#respond(responses.otherPurchase())
    }
    if (result.type === 'taken') {
      this.#taken = 'taken'
      return this.#refuse('payment_already_used', 'this payment was already used for a request')
    }
    return this.#busy()
  }

  /** Ends the claim if the request must not continue with it. */
  async #check(): Promise<GateResponse | undefined> {
    const { claimsId, isOfEarlierClaim } = this.#paid
    const { isNew } = this.#own
    // The facilitator was asked on behalf of the lost claims, and grants what belongs to them.
    if (this.#gate.claims.id !== claimsId) {
      await this.#release(isNew ? 'forgotten' : 'open')
      return this.#respond(responses.unavailable(503))
    }
    // The claim was deleted since the lookup, perhaps the one for which the requirement was accepted.
    const isForgotten = isNew && (this.#isKnown || isOfEarlierClaim)
    if (isForgotten || (isNew && this.#ledger.state !== 'unsubmitted')) {
      await this.#release('forgotten')
      if (isForgotten) return this.#respond(responses.unavailable(503))
      // It was settled for another server, or for one that lost its claims.
      return this.#paid.refuse('payment_already_used', 'this payment was settled before it was sent here')
    }
    if (this.#ledger.state === 'expired' && !this.#isAnswered) {
      await this.#release('open')
      return this.#paid.refuse('invalid_upto_avm_payload_validity', 'the payment has expired')
    }
    const short = this.#isAnswered ? undefined : validityProblem(this.#ledger, this.#paid)
    if (short !== undefined) {
      await this.#release('open')
      return this.#paid.refuse(short.code, short.message)
    }
    if (!this.#isAsked || !this.#isKnown || this.#isAnswered) return undefined
    const problem = await this.#askFacilitator().catch(async (error: unknown) => {
      await this.#release('open')
      throw error
    })
    if (problem === undefined) return undefined
    await this.#release('open')
    return this.#paid.refuse(problem.code, problem.message)
  }

  /** Has the payment settled. The facilitator answers the same however often it is asked. */
  async #settle(): Promise<GateResponse | undefined> {
    const { facilitators, events, onError, onClaimedElsewhere } = this.#gate
    const { request, payment, event, required } = this.#paid
    // Another request may have the claim by now. A handler's answer was stored a moment ago, which has checked that.
    if (this.#state !== 'answered' && !this.#own.isHeld) return this.#letGo()
    this.#enter('settling')
    const { state, settledRound } = this.#ledger
    const isOnLedger = state === 'settled'
    const metered = this.#metered
    const charge = metered?.amount
    // An earlier request may have had the payment settled.
    const claimRound = this.#own.isNew ? this.#ledger.round : undefined
    const settling = { ...this.#paid, requestId: request.id, isOnLedger, settledRound, charge, facilitators, onError }
    const isWithdrawn = async (): Promise<boolean> => (await metered?.isWithdrawn(claimRound)) === true
    const send = () => (this.#isSentFirst ? settleStreamed(settling, isWithdrawn) : settlePayment(settling))
    const settle = () => Tracing.span('gate.settle', { kind: 'client' }, send)
    const phase = this.#paid.isSettledFirst ? 'before-handler' : 'after-handler'
    const hooks = isOnLedger ? undefined : this.#hooks
    const sent = await (hooks === undefined ? settle() : hooks.settle(phase, state === 'submitted', settle))
    const result = (await metered?.record(sent, claimRound)) ?? sent
    if (result.state === 'settled') {
      this.#enter('settled')
      this.#receipt = result.receipt
      events.settled(event, result.round, charge === undefined ? undefined : chargedOf(result.receipt))
      return undefined
    }
    if (result.state === 'pending') {
      events.pending(event)
      await this.#release('open')
      return this.#respond(responses.pending(result.receipt, result.status))
    }
    if (result.isClaimedElsewhere) onClaimedElsewhere(payment.transactionId)
    const { errorReason, errorMessage } = result.receipt
    // An earlier request may have had the payment settled.
    const isKept = result.isWithheld === true && !this.#own.isNew
    // A response that was sent is not produced again.
    const isOpen = isKept || this.#isSentFirst
    if (isKept) events.pending(event)
    else if (result.short !== undefined) events.settled(event, result.short.round, chargedOf(result.short.receipt))
    else events.refused(event, { code: errorReason!, message: errorMessage! })
    await this.#release(isOpen ? 'open' : 'forgotten')
    return this.#respond(responses.notSettled(result.receipt, required))
  }

  /** Lets the handler run, if the claim is still this request's. */
  async #start(): Promise<GateResponse | undefined> {
    const isSettled = this.#receipt !== undefined
    // Another request may get the claim before the handler ends.
    if (isSettled && performance.now() > this.#own.startMs + settleMs) return this.#letGo()
    const begun = await this.#begin().catch(async (error: unknown) => {
      await this.#release('open')
      throw error
    })
    if (begun === 'busy') return this.#busy()
    if (begun === 'unpaid') {
      await this.#release(this.#own.isNew ? 'forgotten' : 'open')
      return this.#paid.refuse(leftUnpaid.code, leftUnpaid.message)
    }
    this.#enter('running')
    if (!isSettled) this.#gate.events.verified(this.#paid.event)
    return undefined
  }

  /** Records the start of a handler that must not run twice, and of work that is charged after it is done. */
  async #begin(): Promise<'begun' | 'busy' | 'unpaid'> {
    const { isUpgrade, isSafe } = this.#paid.request
    // A payment opens one connection.
    if (isUpgrade) return (await this.#own.end('served')) ? 'begun' : 'busy'
    // A stream that breaks is produced again, even after its gate was killed: its start is not recorded.
    if (this.#isStreamed) return this.#own.isHeld ? 'begun' : 'busy'
    await this.#metered?.chooseOrder()
    const isOnce = !isSafe || this.#isSentFirst
    if (isOnce && !(await this.#own.begin())) return 'busy'
    const round = this.#own.isNew ? this.#ledger.round : undefined
    const isRefused = (await this.#metered?.begin(round, () => this.#expire())) === false
    return isRefused ? 'unpaid' : 'begun'
  }

  #admission(): Admission {
    const { request, payment, event } = this.#paid
    this.#metered?.watch()
    // A stream that runs longer than its claim does not open a second one.
    const isTimed = this.#isOnce || (this.#isStreamed && !request.isUpgrade)
    const onSlow = (): unknown => (this.#isOnce ? this.#replace() : this.#own.end('served'))
    this.#time.begin(isTimed ? onSlow : undefined)
    const settled = this.#receipt
    return {
      payer: payment.payer,
      transactionId: payment.transactionId,
      payment: () => event.status.current,
      settled,
      isStreamed: this.#isStreamed || this.#isSentFirst,
      cut: this.#metered?.cut,
      ...this.#paid.usage?.admissionMembers,
      headers: settled === undefined ? responses.corsHeaders(request.request, this.#gate.cors) : this.#paidHeaders,
      settle: (answer) => this.#answer(answer),
      cancel: (reason) => this.#cancel(reason),
      disconnected: () => {
        this.#disconnection ??= this.#abandon()
        return this.#disconnection
      },
      undelivered: () => this.#reopen(),
    }
  }

  /** Takes the handler's answer. */
  async #answer(answer: HeldAnswer | undefined): Promise<{ headers: responses.HeaderList } | GateResponse> {
    const isSettled = this.#receipt !== undefined
    // A metered stream that has been sent is charged.
    const isLate = !isSettled && !this.#isSentFirst && this.#time.isOver
    if (isLate) await this.#cancel()
    if (!this.#isRunning) return this.#respond(responses.tooLate(isSettled))
    try {
      this.#metered?.take(answer)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      this.#gate.onError(error)
      await this.#fail('handler_failed')
      return this.#respond(responses.json(500, invalidCharge))
    }
    this.#endHandler('answered')
    const plain = answer && responses.heldAnswer(answer)
    const held = this.#metered === undefined ? plain : await this.#metered.finish(plain)
    try {
      // Another request has the claim, and its answer is the one that counts.
      if (held !== undefined && !(await this.#own.hold(held))) {
        if (this.#hooks !== undefined) await this.#hooks.cancel('handler_failed')
        return this.#busy()
      }
    } catch (error) {
      this.#gate.onError(error)
      if (!isSettled && !this.#isSentFirst) {
        // Nothing is charged for an answer that would be lost with the connection.
        this.#reportCancelled()
        await this.#release(this.#own.isNew ? 'forgotten' : 'open')
        if (this.#hooks !== undefined) await this.#hooks.cancel('handler_failed')
        return this.#respond(responses.unavailable(503))
      }
      // The answer would be lost if the store and the buyer were both unreachable.
      const untilMs = this.#own.startMs + handlerMs(this.#paid) + settleMs - holdMarginMs
      if (this.#isOnce && held !== undefined) this.#own.holdLater(held, untilMs)
    }
    const refusal = (isSettled ? undefined : await this.#settle()) ?? (await this.#deliver())
    if (refusal !== undefined) return refusal
    return { headers: isSettled ? this.#paidHeaders : await this.#headersOf(this.#receipt!) }
  }

  /** The response was cut, because it could not be charged for much longer. What was used is charged now. */
  async #expire(): Promise<void> {
    if (this.#isRunning) await this.#answer(undefined)
  }

  /** Uses the payment up. Its answer is sent after that, and kept for a while. */
  async #deliver(): Promise<GateResponse | undefined> {
    if (!(await this.#own.end('served'))) return this.#busy()
    this.#enter('delivered')
    return undefined
  }

  /** Sends the answer of an earlier request after its payment is settled. */
  async #redeliver(): Promise<Decision> {
    const stored = this.#own.answer
    const answer = stored ?? (await this.#replace())
    if (stored === undefined) {
      const { transactionId } = this.#paid.payment
      const message = `the response paid for by ${transactionId} was lost, and its handler does not run again`
      this.#gate.onError(new PartyError('answer_lost', message))
    }
    await this.#metered?.takeEarlier(stored)
    const refusal = (await this.#settle()) ?? (await this.#deliver())
    if (refusal !== undefined) return refusal
    const sent = this.#paid.usage === undefined ? answer : withoutCharge(answer)
    const response = responses.held(sent, await this.#headersOf(this.#receipt!))
    return { type: 'response', response, undelivered: () => this.#reopen() }
  }

  /** The handler failed. */
  async #cancel(reason: CancelReason = 'handler_failed'): Promise<void> {
    if (!this.#isRunning) return
    // What was sent until the maximum was reached is charged.
    return this.#metered?.isExceeded ? this.#expire() : this.#fail(reason)
  }

  /** A payment that was sent before may be on the ledger now or later, so its claim is kept. */
  async #fail(reason: CancelReason): Promise<void> {
    const isKept = this.#receipt !== undefined || !this.#own.isNew
    this.#endHandler(isKept ? 'open' : 'refused')
    if (this.#receipt === undefined) this.#reportCancelled()
    await this.#metered?.drop()
    await this.#own.end(isKept ? 'open' : 'forgotten')
    // A claim that is kept could have a charge on the ledger.
    if (this.#metered !== undefined && !isKept) this.#gate.onUnused(this.#paid, this.#ledger.round)
    if (this.#hooks !== undefined) await this.#hooks.cancel(reason)
  }

  /** The client has left. Waits for the handler, and gives it up when its time is up. */
  async #abandon(): Promise<void> {
    const { isUpgrade, isSafe } = this.#paid.request
    if (!this.#isRunning || isUpgrade) return
    await this.#time.wait()
    if (!this.#isRunning) return
    if (this.#isSentFirst) return this.#expire()
    if (isSafe || this.#isStreamed) return this.#cancel()
    this.#endHandler('open')
    await this.#own.holdReplacement()
    await this.#own.end('open')
    if (this.#hooks !== undefined) await this.#hooks.cancel('handler_failed')
  }

  /** Replaces an answer that no gate has. The replacement is stored, so that each repeat gets the same one. */
  async #replace(): Promise<HeldAnswer> {
    this.#enter('lost')
    return this.#own.holdReplacement()
  }

  /** The client did not get the whole answer, and may send the payment again. */
  async #reopen(): Promise<void> {
    // A response that is charged after it was sent is sent once.
    if (this.#isSentFirst) return
    // The claim of a busy request may be its own after all, if the store failed.
    if (this.#own?.isAnswerDropped || (this.#state !== 'delivered' && this.#state !== 'busy')) return
    await this.#release('open')
  }

  /** @throws Error for a transition that is not listed, so that nothing is served after it */
  #enter(state: State): void {
    if (!nextStates.get(this.#state)!.has(state)) {
      throw new Error(`a paid request that is ${this.#state} cannot become ${state}`)
    }
    this.#state = state
  }

  #endHandler(state: 'answered' | 'open' | 'refused'): void {
    this.#enter(state)
    this.#time.end()
  }

  /** Whether the handler has neither ended nor been given up. */
  get #isRunning(): boolean {
    return this.#state === 'running' || this.#state === 'lost'
  }

  /** Whether a facilitator decides if the payment is valid before the handler runs. */
  get #isVerifiable(): boolean {
    // The buyer's name of a purchase must not be used by others, even while their payments are settled.
    const isVerified = !this.#paid.isSettledFirst || this.#paid.purchase !== undefined
    return this.#ledger.state === 'unsubmitted' && isVerified
  }

  /** Whether a facilitator, or a hook, decides before the payment is claimed. */
  get #isAsked(): boolean {
    return this.#isVerifiable || (this.#hooks !== undefined && this.#ledger.state === 'unsubmitted')
  }

  /** Whether the answer of an earlier request is sent, because the handler must not run again. */
  get #isAnswered(): boolean {
    if (this.#own.result.type !== 'held') return false
    // A stream whose copy had no room is produced again, like one that is too long for a copy.
    // One authorization settles one charge, so that a response by usage is not produced again.
    const isMadeAgain = (this.#paid.request.isSafe || this.#paid.isStreamed) && this.#metered === undefined
    return this.#own.answer !== undefined || !isMadeAgain
  }

  /** Whether the response is sent while the handler produces it, and charged after that. */
  get #isSentFirst(): boolean {
    return this.#metered?.isSentFirst === true
  }

  get #isStreamed(): boolean {
    return this.#paid.isStreamed && this.#receipt !== undefined
  }

  /**
   * Whether the work of the handler cannot be undone and must not be repeated, neither after the claim has expired nor
   * without an answer.
   */
  get #isOnce(): boolean {
    return this.#receipt !== undefined && !this.#isStreamed && !this.#paid.request.isSafe
  }

  /** Returns the reason why the payment is not valid. */
  async #askFacilitator(): ReturnType<typeof verifyPayment> {
    const { facilitators, onClaimedElsewhere } = this.#gate
    const verifying = { ...this.#paid, requestId: this.#paid.request.id, facilitators }
    const verify = () => Tracing.span('gate.verify', { kind: 'client' }, () => verifyPayment(verifying))
    const problem = await (this.#hooks?.verify(this.#isVerifiable ? verify : undefined) ?? verify())
    if (problem?.isClaimedElsewhere) onClaimedElsewhere(this.#paid.payment.transactionId)
    return problem
  }

  /** A payment that was sent before may be on the ledger now or later, although its handler failed this time. */
  #reportCancelled(): void {
    const [{ events }, { event }] = [this.#gate, this.#paid]
    if (this.#ledger.state === 'settled') events.settled(event, this.#ledger.settledRound)
    else if (this.#own.isNew) events.cancelled(event)
    else events.pending(event)
  }

  /** Ends a claim that the payment may be sent with again, or deletes it. */
  async #release(end: 'open' | 'forgotten'): Promise<void> {
    this.#enter(end === 'open' ? 'open' : 'refused')
    await this.#own.end(end)
  }

  async #headersOf(receipt: SettleResponse): Promise<responses.HeaderList> {
    const { request, issuePass } = this.#paid
    const signed = (await this.#gate.receipts?.addTo(receipt, this.#paid)) ?? receipt
    const headers = [...responses.paidHeaders(signed), ...responses.corsHeaders(request.request, this.#gate.cors)]
    return issuePass === undefined ? headers : [...headers, ...(await issuePass())]
  }

  /** A payment without a claim opens nothing. */
  #refuse(error: string, message?: string): GateResponse {
    this.#enter('refused')
    return this.#paid.refuse(error, message)
  }

  /** Another request has the claim, or may have it. */
  #busy(): GateResponse {
    this.#enter('busy')
    const receipt = pendingReceipt(this.#paid, 'an earlier request with this payment is being served')
    return this.#respond(responses.pending(receipt, 503))
  }

  /** Releases the claim to other requests, one of which may already have it. */
  async #letGo(): Promise<GateResponse> {
    const response = this.#busy()
    await this.#release('open')
    return response
  }

  #respond(response: Response): GateResponse {
    return this.#gate.respond(this.#paid.request.request, response)
  }
}
