/** The charge of a price by usage: its work while it runs, its amount when it has ended, and what became of it. */
import type { SettleResponse } from '@latchkey/x402-wire'
import * as responses from '../gate/responses.js'
import type { HeldAnswer } from '../store/Claims.js'
import type { Sale } from '../store/Sales.js'
import type { UsageStore } from '../store/UsageStore.js'
import type { ExchangeParts } from './ExchangeParts.js'
import { MeteredStream } from './MeteredStream.js'
import { type LedgerProblem, leftUnpaid, type PaidRequest } from './PaidRequest.js'
import type { Charged } from './Payment.js'
import { pendingReceipt, type SettlementResult, verifyPayment } from './settlePayment.js'
import { storedCharge, type Usage, withCharge } from './Usage.js'
import { refuseMs } from './UsageRecovery.js'
import { type Evidence, failureCause } from './Withdrawals.js'

export class MeteredCharge {
  readonly #gate: ExchangeParts
  readonly #paid: PaidRequest
  readonly #usage: Usage
  /** Routes cannot have prices by usage without it. */
  readonly #store: UsageStore
  /** The limits of a response that is sent before it is charged. Set by `begin`. */
  #stream: MeteredStream | undefined
  #amount: bigint | undefined
  /** Whether a response that could be streamed is charged before it is sent. */
  #isHeldBack = false

  private constructor(gate: ExchangeParts, paid: PaidRequest, usage: Usage) {
    this.#gate = gate
    this.#paid = paid
    this.#usage = usage
    this.#store = gate.claims.usage!
  }

  /** Undefined for a fixed price. */
  static of(gate: ExchangeParts, paid: PaidRequest): MeteredCharge | undefined {
    return paid.usage === undefined ? undefined : new MeteredCharge(gate, paid, paid.usage)
  }

  /** The amount to charge in base units; undefined while the handler runs. */
  get amount(): bigint | undefined {
    return this.#amount
  }

  /** Whether the response is sent while the handler produces it, and charged after that. */
  get isSentFirst(): boolean {
    return this.#usage.isStreamed && !this.#isHeldBack
  }

  /** Whether a response that was sent is charged although its handler failed. */
  get isExceeded(): boolean {
    return this.isSentFirst && this.#usage.isExceeded
  }

  /** Aborted when nothing more may be sent. */
  get cut(): AbortSignal | undefined {
    return this.#stream?.cut
  }

  /** Returns why the payer gets no work that is charged after it is done. */
  async payerProblem(): Promise<LedgerProblem | undefined> {
    return (await this.#store.isUnpaid(this.#paid.payment.payer, Date.now())) ? leftUnpaid : undefined
  }

  /**
   * Decides whether the response is sent before it is charged. While many such responses are unpaid, none is. Call it when the handler is about to run: an earlier run of the handler may have decided otherwise.
   */
  async chooseOrder(): Promise<void> {
    if (!this.#usage.isStreamed) return
    const { maxUnpaidStreams: limit, onManyUnpaid } = this.#gate
    this.#isHeldBack = (await this.#store.countUnpaid(limit, Date.now())) >= limit
    if (this.#isHeldBack) onManyUnpaid()
  }

  /**
   * Stores the work of a response that is sent before it is charged.
   *
   * @param round the round in which the payment was claimed, if it is new
   * @param onCut called when the response was cut, and what was used must be charged
   * @returns false if the payer is refused
   */
  async begin(round: bigint | undefined, onCut: () => Promise<void>): Promise<boolean> {
    if (!this.isSentFirst) return true
    const { onError } = this.#gate
    this.#stream = await MeteredStream.begin({
      store: this.#store,
      paid: this.#paid,
      sale: this.#sale(round),
      isChargeable: () => this.#isChargeable(),
      onCut: () => void onCut().catch(onError),
      onError,
    })
    this.#usage.onChange = () => this.#stream?.charged()
    return this.#stream !== undefined
  }

  /**
   * Asks the facilitator again whether the ledger would accept the maximum. The payer may have spent its balance, or used
   * the lease for another transaction.
   */
  async #isChargeable(): Promise<boolean> {
    const { facilitators } = this.#gate
    const problem = await verifyPayment({ ...this.#paid, requestId: this.#paid.request.id, facilitators })
    // A facilitator that is busy or has no node says nothing about the payer.
    return problem === undefined || /^facilitator_|unexpected/.test(problem.code)
  }

  /** The handler runs. */
  watch(): void {
    this.#stream?.watch()
  }

  /**
   * The handler has ended.
   *
   * @throws UsageError for a charge that cannot be made
   */
  take(answer: HeldAnswer | undefined): void {
    this.#amount = this.#usage.chargeOf(answer)
  }

  /**
   * Stores the amount of a response that was sent. Returns the answer to hold, with its amount. A response that was
   * sent, and of which there is no copy, is not produced again.
   */
  async finish(answer: HeldAnswer | undefined): Promise<HeldAnswer | undefined> {
    await this.#stream?.finish(this.#amount!)
    const lost = this.isSentFirst ? responses.lostAnswer(this.#paid.payment.transactionId) : undefined
    const held = answer ?? lost
    return held && withCharge(held, this.#amount)
  }

  /** The handler failed, and nothing is charged. Never throws. */
  async drop(): Promise<void> {
    await this.#stream?.drop().catch(this.#gate.onError)
  }

  /**
   * Takes the amount of an earlier request. If its gate was killed while it was sent, what was used until then: should
   * that gate still run, it notes no more.
   */
  async takeEarlier(stored: HeldAnswer | undefined): Promise<void> {
    const running = await this.#store.takeOver(this.#paid.payment.transactionId)
    this.#amount = running ?? storedCharge(stored)
  }

  /**
   * Whether the ledger proves, while the settlement is not decided, that the payer cannot be charged. Never throws.
   *
   * @param round the round in which the payment was claimed, if it is new
   */
  async isWithdrawn(round: bigint | undefined): Promise<boolean> {
    try {
      return (await this.#evidence(round)) === 'withdrawn'
    } catch (error) {
      this.#gate.onError(error)
      return false
    }
  }

  /**
   * Records the outcome, and returns it. Never throws: work that stays in the store is settled again.
   *
   * @param round the round in which the payment was claimed, if it is new
   */
  async record(result: SettlementResult, round: bigint | undefined): Promise<SettlementResult> {
    try {
      await this.#stream?.close()
      return this.isSentFirst ? await this.#recordSent(result, round) : await this.#recordHeld(result, round)
    } catch (error) {
      this.#gate.onError(error)
      return result
    }
  }

  /** The outcome of a response that is sent after it is charged. */
  async #recordHeld(result: SettlementResult, round: bigint | undefined): Promise<SettlementResult> {
    if (result.state === 'settled') return result
    const evidence = await this.#evidenceOf(result, round)
    if (evidence === 'withdrawn') await this.#refusePayer()
    return evidence === 'charged' ? this.#pending(result, 'the facilitator has not reported the charge yet') : result
  }

  /** The outcome of a response that was sent. The charge of a gate that lost its work is decided by the one that has it. */
  async #recordSent(result: SettlementResult, round: bigint | undefined): Promise<SettlementResult> {
    const { transactionId } = this.#paid.payment
    const isOwn = this.#stream?.isOwn === true
    const isOver = result.state === 'settled' || (result.state === 'failed' && result.isWithheld === true)
    if (isOver || (isOwn && this.#amount === 0n && result.state === 'failed')) {
      await this.#store.end(transactionId)
      return result
    }
    if (!isOwn) {
      // Another gate of this seller has settled what was used when this one was paused, or cut off from the store.
      const short = result.state === 'failed' ? result.short : undefined
      return short === undefined ? result : { state: 'settled', ...short }
    }
    if ((await this.#evidenceOf(result, round)) === 'withdrawn') {
      await this.#refusePayer()
      return result
    }
    await this.#stream!.giveBack()
    return this.#pending(result, 'the charge is not settled yet')
  }

  #pending(result: SettlementResult, why: string): SettlementResult {
    if (result.state === 'pending') return result
    return { state: 'pending', receipt: pendingReceipt(this.#paid, why), status: 503 }
  }

  #refusePayer(): Promise<void> | void {
    const { transactionId, payer } = this.#paid.payment
    return this.#store.leaveUnpaid({ transactionId, payer, refuseMs }, Date.now())
  }

  /** Whether the payer is at fault: it had less settled than was used, or the ledger proves that it cannot be charged. */
  async #evidenceOf(result: SettlementResult, round: bigint | undefined): Promise<Evidence> {
    if (result.state === 'failed') {
      if (result.isWithheld === true) return 'nothing'
      if (result.short !== undefined && this.#amount !== 0n) return 'withdrawn'
      if (failureCause(result.receipt.errorReason ?? '') === 'seller') return 'nothing'
    }
    return this.#evidence(round)
  }

  async #evidence(round: bigint | undefined): Promise<Evidence> {
    const charge = this.#amount ?? 0n
    if (charge === 0n) return 'nothing'
    const { chain, payment } = this.#paid
    return this.#gate.withdrawals.evidence(chain, { payment, sale: this.#sale(round), charge })
  }

  #sale(round: bigint | undefined): Sale {
    return this.#gate.events.saleOf(this.#paid.event, 'verified', round)
  }
}

/** The charge in a receipt. */
export function chargedOf({ amount = '', transaction: settlement }: SettleResponse): Charged {
  return { amount, settlement }
}
