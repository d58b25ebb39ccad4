/** What a gate tells its seller while it works. */
import type { Payment } from './Payment.js'

/** What every event has. */
export type GateEvent = {
  /**
   * The transaction id, where a payment was read; otherwise a random one. An event may come twice: what a hook does is to be
   * done once for an id.
   */
  readonly id: string
  /** In milliseconds since 1970. */
  readonly timeMs: number
  /** The key of the route, like `GET /weather`. */
  readonly route: string
  readonly method: string
  /** The path as the client sent it, without its query. A client chooses it. */
  readonly path: string
  /**
   * The id of the request, which its facilitator logs too: the `X-Request-Id` that it came with, or a new one. Undefined in an
   * event that was not delivered before a restart.
   */
  readonly requestId?: string | undefined
}

/** A request came without a payment and got the price. */
export type PaymentRequiredEvent = GateEvent & {
  /** The ways to pay: `0.01 USDC`. */
  readonly prices: readonly string[]
}

/** A payment was verified, or settled. */
export type PaymentEvent = GateEvent & { readonly payment: Payment }

/** A payment was refused: it opened nothing. */
export type RefusedEvent = GateEvent & {
  /** The `error` of the response, like `invalid_payload`. */
  readonly code: string
  /** The reason in words. Parts of it may come from a buyer or a facilitator: escape it where it is shown. */
  readonly message: string
  /** Undefined where the payment could not be read. */
  readonly payment: Payment | undefined
}

/**
 * Functions that a gate calls with what happens. They run after the response is on its way, or beside it: none can delay,
 * change or fail it. One that throws, or whose promise rejects, or takes longer than 30 seconds, is called again, with
 * longer waits, up to 8 times; then the error goes to `onError`. Events of one payment come in their order.
 */
export type GateHooks = {
  /** Called when a request without a payment got the price. */
  onPaymentRequired?: ((event: PaymentRequiredEvent) => unknown) | undefined
  /** Called when a payment is valid, before it is settled and before the handler runs. Not where the route settles first. */
  onVerified?: ((event: PaymentEvent) => unknown) | undefined
  /**
   * Called when a payment is on the ledger: at least once, with the transaction id as `event.id`. A store of claims on disk
   * keeps events that were not delivered when the process ended; the next gate that opens with it delivers them.
   */
  onSettled?: ((event: PaymentEvent) => unknown) | undefined
  /** Called when a payment was refused. */
  onRefused?: ((event: RefusedEvent) => unknown) | undefined
}

export type HookName = keyof GateHooks
