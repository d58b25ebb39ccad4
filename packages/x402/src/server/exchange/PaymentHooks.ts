/** Calls the deciding hooks of a gate for one payment, in the order of `@x402/core`. */
import { frozenCopy, type HookAbort } from '../../hooks.js'
import type { CancelReason, GateHookCalls, PaymentContext, SettlePhase } from '../gate/DecidingHooks.js'
import { hookRequest } from '../gate/DecidingHooks.js'
import type { Decision } from './Admission.js'
import type { PaidRequest } from './PaidRequest.js'
import { type PaymentProblem, pendingReceipt, type SettlementResult } from './settlePayment.js'

export class PaymentHooks {
  readonly #calls: GateHookCalls
  readonly #paid: PaidRequest
  readonly #context: PaymentContext
  readonly #onError: (error: unknown) => void
  /** Whether hooks were told that the payment is valid, and nothing since. */
  #isOpen = false
  readonly #settledPhases: SettlePhase[] = []

  constructor(calls: GateHookCalls, paid: PaidRequest, onError: (error: unknown) => void) {
    this.#calls = calls
    this.#paid = paid
    this.#onError = onError
    const { payload, requirement, required, event, request } = paid
    const [paymentPayload, requirements] = [frozenCopy(payload), frozenCopy(requirement)]
    const declaredExtensions = frozenCopy((required.extensions ?? {}) as PaymentContext['declaredExtensions'])
    const transportContext = { request: hookRequest(request, event.route) }
    const payment = event.status.current
    this.#context = Object.freeze({ paymentPayload, requirements, declaredExtensions, transportContext, payment })
  }

  /** Decides on a request. A payment that was verified, but whose handler does not run, is cancelled. */
  async decide(work: () => Promise<Decision>): Promise<Decision> {
    try {
      const decision = await work()
      if (decision.type !== 'paid') await this.#cancelOpen()
      return decision
    } catch (error) {
      await this.#cancelOpen()
      throw error
    }
  }

  /**
   * Has a payment verified. A hook can refuse a valid payment, but cannot make a refused one valid.
   *
   * @param verify undefined if the payment is settled before the handler runs, which verifies it too
   * @throws HookError for a hook that failed, and what `verify` throws
   */
  async verify(verify: (() => Promise<PaymentProblem | undefined>) | undefined): Promise<PaymentProblem | undefined> {
    const refusal = await this.#calls.abort('onBeforeVerify', this.#context)
    if (refusal !== undefined) return problemOf(refusal)
    if (verify === undefined) return undefined
    let problem: PaymentProblem | undefined
    try {
      problem = await verify()
    } catch (error) {
      await this.#calls.tell('onVerifyFailure', { ...this.#context, error })
      throw error
    }
    const { payer } = this.#paid.payment
    const result =
      problem === undefined
        ? { isValid: true, payer }
        : { isValid: false, payer, invalidReason: problem.code, invalidMessage: problem.message }
    this.#isOpen = problem === undefined
    const abort = await this.#calls.abort('onAfterVerify', { ...this.#context, result: Object.freeze(result) })
    if (abort === undefined) return problem
    this.#isOpen = true
    await this.#cancelOpen()
    return problem ?? problemOf(abort)
  }

  /**
   * Settles a payment. Never throws: a hook that failed leaves the payment undecided, so that the buyer may send it
   * again.
   *
   * @param isSubmitted whether the payment is already on its way, so that no hook can stop it
   */
  async settle(
    phase: SettlePhase,
    isSubmitted: boolean,
    settle: () => Promise<SettlementResult>,
  ): Promise<SettlementResult> {
    const context = { ...this.#context, phase }
    try {
      const abort = isSubmitted ? undefined : await this.#calls.abort('onBeforeSettle', context)
      if (abort !== undefined) return this.#withheld(abort)
    } catch (error) {
      this.#onError(error)
      return { state: 'pending', receipt: pendingReceipt(this.#paid, 'the seller cannot accept it now'), status: 503 }
    }
    const result = await settle()
    this.#isOpen = false
    if (result.state === 'settled') {
      this.#settledPhases.push(phase)
      await this.#calls.tell('onAfterSettle', { ...context, result: frozenCopy(result.receipt) })
    } else {
      const { errorReason, errorMessage } = result.receipt
      await this.#calls.tell('onSettleFailure', { ...context, error: new Error(`${errorReason}: ${errorMessage}`) })
    }
    return result
  }

  /** Reports that the handler failed. Never throws. */
  async cancel(reason: CancelReason): Promise<void> {
    this.#isOpen = false
    const settledPhases = [...this.#settledPhases]
    await this.#calls.tell('onVerifiedPaymentCanceled', { ...this.#context, phase: 'cancel', reason, settledPhases })
  }

  async #cancelOpen(): Promise<void> {
    if (this.#isOpen) await this.cancel('after_verify_aborted')
  }

  #withheld({ reason, message }: HookAbort): SettlementResult {
    this.#isOpen = false
    const { payment, requirement } = this.#paid
    const receipt = {
      success: false,
      errorReason: reason,
      errorMessage: message ?? reason,
      transaction: payment.transactionId,
      network: requirement.network,
      payer: payment.payer,
    }
    return { state: 'failed', receipt, isClaimedElsewhere: false, isWithheld: true }
  }
}

function problemOf({ reason, message }: HookAbort): PaymentProblem {
  return { code: reason, message, isClaimedElsewhere: false }
}
