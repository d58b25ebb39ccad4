/** The events that a gate reports to its seller. */
import type { Payment } from '../exchange/Payment.js'

/** The common members of all events. */
export type GateEvent = {
  /**
   * The transaction id if a payment was read, otherwise a random id. An event may be delivered twice, so a hook must
   * act once for an id.
   */
  readonly id: string
  /** The time of the event, in milliseconds since 1970. */
  readonly timeMs: number
  /** The key of the route, such as `GET /weather`. */
  readonly route: string
  readonly method: string
  /** The path as the client sent it, without its query. The client chooses this text. */
  readonly path: string
  /**
   * The id of the request, which its facilitator logs too: the request's `X-Request-Id`, or a new id. Undefined in an
   * event that was not delivered before a restart.
   */
  readonly requestId?: string | undefined
}

/** A request without a payment got the price. */
export type PaymentRequiredEvent = GateEvent & {
  /** The ways to pay, such as `0.01 USDC`. */
  readonly prices: readonly string[]
}

/** A payment was verified or settled. */
export type PaymentEvent = GateEvent & { readonly payment: Payment }

/** A payment was refused and opened nothing. */
export type RefusedEvent = GateEvent & {
  /** The `error` of the response, such as `invalid_payload`. */
  readonly code: string
  /** The reason in words. Parts may come from a buyer or a facilitator, so escape the text before showing it. */
  readonly message: string
  /** Undefined if the payment could not be read. */
  readonly payment: Payment | undefined
}

/**
 * Functions that a gate calls with events. Hooks run after or in parallel with the response, and cannot delay, change
 * or fail it. A hook that throws, rejects or takes longer than 30 seconds is called again, with increasing waits, up to
 * 8 times. The error then goes to `onError`. Events of one payment are delivered in order.
 */
export type GateHooks = {
  /** Called when a request without a payment got the price. */
  onPaymentRequired?: ((event: PaymentRequiredEvent) => unknown) | undefined
  /**
   * Called when a payment is valid, before it is settled and before the handler runs. Not called if the route settles
   * first.
   */
  onVerified?: ((event: PaymentEvent) => unknown) | undefined
  /**
   * Called at least once when a payment is on the ledger, with the transaction id as `event.id`. A store of claims on
   * disk keeps events that were not delivered when the process ended, and the next gate that opens with the store
   * delivers them.
   */
  onSettled?: ((event: PaymentEvent) => unknown) | undefined
  /** Called when a payment was refused. */
  onRefused?: ((event: RefusedEvent) => unknown) | undefined
}

export type HookName = keyof GateHooks
