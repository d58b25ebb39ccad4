/** The hooks of a buyer, with the names and the order of `@x402/core`. They can refuse to pay, and change nothing else. */
import {
  PaymentHeaders,
  type PaymentPayload,
  type PaymentRequired,
  type PaymentRequirements,
  type SettleResponse,
} from '@latchkey/x402-wire'
import { warn } from '../../errors.js'
import { frozenCopy, type HookAbort, HookCalls, type HookResult, type OneOrMore } from '../../hooks.js'
import type { Offer } from './Offer.js'
import { PaymentRefusedError } from './PaymentRefusedError.js'
import { receiptOf } from './sendPayment.js'

/** The payment that a hook decides on. All members are copies that cannot be changed. */
export type PaymentCreationContext = {
  /** The seller's 402. */
  readonly paymentRequired: PaymentRequired
  /** The offer that is paid. */
  readonly selectedRequirements: PaymentRequirements
}
/** A payment that was signed. */
export type PaymentCreatedContext = PaymentCreationContext & { readonly paymentPayload: PaymentPayload }
/** A payment that could not be signed. */
export type PaymentCreationFailureContext = PaymentCreationContext & { readonly error: unknown }
/** A payment, and the seller's response to it. */
export type PaymentResponseContext = {
  readonly paymentPayload: PaymentPayload
  readonly requirements: PaymentRequirements
  /** The receipt, if the response has one. */
  readonly settleResponse?: SettleResponse | PaymentHeaders.Receipt | undefined
  /** The price, if the response is a 402 without a receipt. */
  readonly paymentRequired?: PaymentRequired | undefined
}

/** Hooks of a buyer. Each call may take `hookTimeoutMs`. */
export type BuyerHooks = {
  /**
   * Called before a payment is recorded and signed. Return `{ abort: true, reason }` to pay nothing; the call then
   * throws a `PaymentRefusedError`. A hook that throws, takes too long or returns an unknown value has the same effect,
   * with a `HookError`.
   */
  onBeforePaymentCreation?: OneOrMore<(context: PaymentCreationContext) => HookResult<HookAbort>> | undefined
  /** Called when a payment is signed, before it is sent. */
  onAfterPaymentCreation?: OneOrMore<(context: PaymentCreatedContext) => unknown> | undefined
  /** Called if a payment could not be signed. */
  onPaymentCreationFailure?: OneOrMore<(context: PaymentCreationFailureContext) => unknown> | undefined
  /** Called with the response to a payment. */
  onPaymentResponse?: OneOrMore<(context: PaymentResponseContext) => unknown> | undefined
  /**
   * How long each call of these hooks may take, at most 60 seconds.
   *
   * @default 5_000
   */
  hookTimeoutMs?: number | undefined
}

const names = [
  'onBeforePaymentCreation',
  'onAfterPaymentCreation',
  'onPaymentCreationFailure',
  'onPaymentResponse',
] as const

export class BuyerHookCalls {
  readonly #calls: HookCalls<(typeof names)[number]>

  private constructor(calls: HookCalls<(typeof names)[number]>) {
    this.#calls = calls
  }

  /**
   * Returns undefined if there are no hooks.
   *
   * @throws OptionsError for a hook that is not a function
   */
  static of(hooks: BuyerHooks): BuyerHookCalls | undefined {
    const calls = HookCalls.of(hooks, names, warn)
    return calls && new BuyerHookCalls(calls)
  }

  /**
   * Creates a payment between the hooks.
   *
   * @param create calls its argument with the offer before anything is signed
   * @throws PaymentRefusedError if a hook refuses
   * @throws HookError if a hook failed; nothing is signed then
   */
  async create<T extends { readonly payload: PaymentPayload }>(
    required: PaymentRequired,
    create: (onSelected: (offer: Offer) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    let context: PaymentCreationContext | undefined
    const onSelected = async ({ requirement }: Offer): Promise<void> => {
      const selected = { paymentRequired: frozenCopy(required), selectedRequirements: frozenCopy(requirement) }
      const abort = await this.#calls.abort('onBeforePaymentCreation', selected)
      if (abort !== undefined) throw refusedBy(abort)
      context = selected
    }
    let created: T
    try {
      created = await create(onSelected)
    } catch (error) {
      if (context !== undefined) await this.#calls.tell('onPaymentCreationFailure', { ...context, error })
      throw error
    }
    await this.#calls.tell('onAfterPaymentCreation', { ...context!, paymentPayload: frozenCopy(created.payload) })
    return created
  }

  /** Never throws, because the response is paid for. */
  async responded(payload: PaymentPayload, response: Response): Promise<void> {
    const settleResponse = receiptOf(response)
    const header = response.status === 402 ? response.headers.get(PaymentHeaders.paymentRequired) : null
    const paymentRequired =
      header === null || settleResponse !== undefined
        ? undefined
        : PaymentHeaders.orUndefined(() => PaymentHeaders.decodeRequired(header))
    const paymentPayload = frozenCopy(payload)
    const context = { paymentPayload, requirements: paymentPayload.accepted, settleResponse, paymentRequired }
    await this.#calls.tell('onPaymentResponse', context)
  }
}

function refusedBy({ reason, message }: HookAbort): PaymentRefusedError {
  const text = message === undefined ? reason : `${reason}: ${message}`
  return new PaymentRefusedError([{ code: 'aborted_by_hook', message: text }])
}
