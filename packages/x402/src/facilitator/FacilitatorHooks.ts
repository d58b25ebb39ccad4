/** The hooks of a facilitator that decide, with the names and the order of `@x402/core`. They can only refuse. */
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@latchkey/x402-wire'
import { frozenCopy, type HookAbort, HookCalls, type HookResult, type OneOrMore } from '../hooks.js'

/** The payment that a hook decides on. All members are copies that cannot be changed. */
export type FacilitatorContext = {
  readonly paymentPayload: PaymentPayload
  readonly requirements: PaymentRequirements
}
/** A payment, and the result of its verification. */
export type FacilitatorVerifyResult = FacilitatorContext & { readonly result: VerifyResponse }
/** A payment, and the result of its settlement. */
export type FacilitatorSettleResult = FacilitatorContext & { readonly result: SettleResponse }
/** A payment that was refused, or that the facilitator failed for. */
export type FacilitatorFailure = FacilitatorContext & { readonly error: Error }

/**
 * Hooks of a facilitator. A call waits for them, each for at most `hookTimeoutMs`. A hook that throws, takes longer or
 * returns an unknown value refuses the payment, and `onError` is called. Hooks are called once for a settlement:
 * further calls for it get its result.
 */
export type FacilitatorHooks = {
  /** Called before a payment is verified. Return `{ abort: true, reason }` to refuse it. */
  onBeforeVerify?: OneOrMore<(context: FacilitatorContext) => HookResult<HookAbort>> | undefined
  /** Called when a payment is valid. */
  onAfterVerify?: OneOrMore<(context: FacilitatorVerifyResult) => unknown> | undefined
  /** Called when a payment is not valid, or could not be verified. */
  onVerifyFailure?: OneOrMore<(context: FacilitatorFailure) => unknown> | undefined
  /** Called before a payment is settled. Return `{ abort: true, reason }` to refuse it; nothing is submitted then. */
  onBeforeSettle?: OneOrMore<(context: FacilitatorContext) => HookResult<HookAbort>> | undefined
  /** Called with the result of a settlement, which may be a refusal. */
  onAfterSettle?: OneOrMore<(context: FacilitatorSettleResult) => unknown> | undefined
  /** Called if the facilitator failed, so that the outcome of the settlement is not known. */
  onSettleFailure?: OneOrMore<(context: FacilitatorFailure) => unknown> | undefined
  /**
   * How long each call of a hook may take, at most 60 seconds.
   *
   * @default 5_000
   */
  hookTimeoutMs?: number | undefined
}

const names = [
  'onBeforeVerify',
  'onAfterVerify',
  'onVerifyFailure',
  'onBeforeSettle',
  'onAfterSettle',
  'onSettleFailure',
] as const

/** Results after which the outcome of a settlement is not known. */
const unknownOutcomes = new Set<unknown>(['unexpected_settle_error', 'facilitator_node_unavailable'])
const failedText = 'the facilitator failed; send the same payment again: it is not charged twice'

/** A call of `settle`. */
export type HookedSettlement = {
  /** Undefined if the payment cannot be read. */
  readonly transactionId: string | undefined
  /** Whether the settlement is recorded. No hook can stop it then. */
  readonly isRecorded: (transactionId: string) => Promise<boolean>
  readonly settle: () => Promise<SettleResponse>
}

/** Whether a settlement may begin: a refusal, or `hooked` if hooks are called with its result. */
type Start = SettleResponse | 'hooked' | 'recorded'

export class FacilitatorHookCalls {
  readonly #calls: HookCalls<(typeof names)[number]>
  readonly #onError: (error: unknown) => void
  /**
   * The decisions on settlements that have not ended, so that concurrent calls share one. Keyed by the whole call,
   * because a call with other requirements must not decide on this one.
   */
  readonly #starting = new Map<string, Promise<Start>>()

  private constructor(calls: HookCalls<(typeof names)[number]>, onError: (error: unknown) => void) {
    this.#calls = calls
    this.#onError = onError
  }

  /**
   * Returns undefined if there are no hooks.
   *
   * @throws OptionsError for a hook that is not a function
   */
  static of(hooks: FacilitatorHooks, onError: (error: unknown) => void): FacilitatorHookCalls | undefined {
    const calls = HookCalls.of(hooks, names, onError)
    return calls && new FacilitatorHookCalls(calls, onError)
  }

  async verify(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    verify: () => Promise<VerifyResponse>,
  ): Promise<VerifyResponse> {
    const context = contextOf(payload, requirements)
    try {
      const abort = await this.#calls.abort('onBeforeVerify', context)
      if (abort !== undefined) {
        return { isValid: false, invalidReason: abort.reason, invalidMessage: abort.message ?? abort.reason }
      }
    } catch (error) {
      this.#onError(error)
      return { isValid: false, invalidReason: 'unexpected_verify_error', invalidMessage: failedText }
    }
    const result = await verify()
    if (result.isValid) await this.#calls.tell('onAfterVerify', { ...context, result: frozenCopy(result) })
    else {
      const error = errorOf(result.invalidReason, result.invalidMessage)
      await this.#calls.tell('onVerifyFailure', { ...context, error })
    }
    return result
  }

  async settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    settlement: HookedSettlement,
  ): Promise<SettleResponse> {
    const { settle } = settlement
    const key = JSON.stringify([payload, requirements])
    const earlier = this.#starting.get(key)
    if (earlier !== undefined) {
      const start = await earlier
      return typeof start === 'string' ? settle() : start
    }
    const context = contextOf(payload, requirements)
    const starting = this.#start(context, settlement)
    this.#starting.set(key, starting)
    try {
      const start = await starting
      if (typeof start !== 'string') return start
      const result = await settle()
      if (start === 'hooked') await this.#tellSettled(context, result)
      return result
    } finally {
      this.#starting.delete(key)
    }
  }

  /** Never throws. */
  async #start(context: FacilitatorContext, { transactionId, isRecorded }: HookedSettlement): Promise<Start> {
    const refused = (errorReason: string, errorMessage: string): SettleResponse => {
      const { network } = context.requirements
      return { success: false, errorReason, errorMessage, transaction: transactionId ?? '', network }
    }
    try {
      if (transactionId !== undefined && (await isRecorded(transactionId))) return 'recorded'
      const abort = await this.#calls.abort('onBeforeSettle', context)
      if (abort === undefined) return 'hooked'
      // Another replica may have begun meanwhile. Its settlement must not be reported as refused.
      if (transactionId !== undefined && (await isRecorded(transactionId))) return 'recorded'
      return refused(abort.reason, abort.message ?? abort.reason)
    } catch (error) {
      this.#onError(error)
      return refused('unexpected_settle_error', failedText)
    }
  }

  async #tellSettled(context: FacilitatorContext, result: SettleResponse): Promise<void> {
    if (result.success || !unknownOutcomes.has(result.errorReason)) {
      await this.#calls.tell('onAfterSettle', { ...context, result: frozenCopy(result) })
      return
    }
    const error = errorOf(result.errorReason, result.errorMessage)
    await this.#calls.tell('onSettleFailure', { ...context, error })
  }
}

function contextOf(paymentPayload: PaymentPayload, requirements: PaymentRequirements): FacilitatorContext {
  return { paymentPayload: frozenCopy(paymentPayload), requirements: frozenCopy(requirements) }
}

function errorOf(reason: string | undefined, message: string | undefined): Error {
  return new Error(message === undefined ? String(reason) : `${reason}: ${message}`)
}
