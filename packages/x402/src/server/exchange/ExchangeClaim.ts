/** The claim of a paid request: the row that remains in the store if the gate is killed. */
import * as responses from '../gate/responses.js'
import { newId } from '../routes/GateRequest.js'
import type { ClaimEnd, ClaimResult, HeldAnswer } from '../store/Claims.js'
import type { ExchangeParts } from './ExchangeParts.js'
import { handlerMs, keepClaimRounds, type PaidRequest, settleMs } from './PaidRequest.js'
import type { LedgerStatus } from './Payment.js'
import type { Lease } from './Renewals.js'

/** A result with which the payment is claimed. */
export type Claimed = Extract<ClaimResult, { readonly type: 'new' | 'again' | 'held' }>

/** The parts of a gate that claims need. */
export type ClaimParts = Pick<ExchangeParts, 'claims' | 'renewals' | 'unfinished' | 'events' | 'onError'>

export class ExchangeClaim {
  readonly #gate: ClaimParts
  readonly #lease: Lease
  readonly result: Claimed
  /** Whether the answer could not be stored and was dropped. The claim then stays used up. */
  #isAnswerDropped = false

  private constructor(gate: ClaimParts, lease: Lease, result: Claimed) {
    this.#gate = gate
    this.#lease = lease
    this.result = result
  }

  /** Claims the payment of a request. `isKnown` is whether it was claimed before. */
  static async take(
    gate: ClaimParts,
    paid: PaidRequest,
    { state, round, isKnown }: LedgerStatus & { readonly isKnown: boolean },
  ): Promise<ExchangeClaim | Exclude<ClaimResult, Claimed>> {
    const { chain, payment, binding, proof, event, purchase } = paid
    const { result, lease } = await gate.renewals.claim(payment.transactionId, {
      owner: newId(),
      binding,
      proof,
      nowMs: Date.now(),
      leaseMs: handlerMs(paid) + settleMs,
      network: chain.caip2,
      round,
      forgetRound: payment.lastValid + keepClaimRounds,
      // A payment that was settled elsewhere is refused, and is not a sale here.
      sale: state === 'unsubmitted' || isKnown ? gate.events.saleOf(event, 'verified', round) : undefined,
      purchase,
    })
    const isClaimed = result.type === 'new' || result.type === 'again' || result.type === 'held'
    return isClaimed ? new ExchangeClaim(gate, lease, result) : result
  }

  get isNew(): boolean {
    return this.result.type === 'new'
  }

  /** The answer of an earlier request. */
  get answer(): HeldAnswer | undefined {
    return this.result.type === 'held' ? this.result.answer : undefined
  }

  get isAnswerDropped(): boolean {
    return this.#isAnswerDropped
  }

  /** When the payment was claimed, by `performance.now()`. */
  get startMs(): number {
    return this.#lease.startMs
  }

  /** Whether no other request can have the claim. False if that is not known. */
  get isHeld(): boolean {
    return this.#gate.renewals.isHeld(this.#lease)
  }

  /** Records the start of a handler that must not run twice. Returns false if another request has the claim. */
  begin(): Promise<boolean> {
    return this.#gate.renewals.begin(this.#lease)
  }

  /** @returns false if another request has the claim */
  async hold(answer: HeldAnswer): Promise<boolean> {
    const { transactionId, owner, fence } = this.#lease
    return (await this.#gate.claims.hold(transactionId, owner, answer, fence)) !== false
  }

  /** Stores an answer as soon as the store can be used, at the latest at `untilMs` by `performance.now()`. */
  holdLater(answer: HeldAnswer, untilMs: number): void {
    const onLost = (): void => {
      this.#isAnswerDropped = true
    }
    this.#gate.unfinished.holdLater(this.#lease, { answer, untilMs, onLost })
  }

  /** Replaces an answer that no gate has. Never throws. */
  async holdReplacement(): Promise<HeldAnswer> {
    const replacement = responses.lostAnswer(this.#lease.transactionId)
    await this.hold(replacement).catch(this.#gate.onError)
    return replacement
  }

  /**
   * Never throws, because a settled payment must be answered even if the store fails.
   *
   * @returns false if another request has the claim, or may have it; the answer must then not be sent
   */
  end(end: ClaimEnd): Promise<boolean> {
    return this.#gate.unfinished.finish(this.#lease, end)
  }
}
