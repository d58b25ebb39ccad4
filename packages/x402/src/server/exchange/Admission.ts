/** The types that a gate and its adapters exchange. */

import type { SettleResponse } from '@latchkey/x402-wire'
import type { CancelReason } from '../gate/DecidingHooks.js'
import type { HeaderList } from '../gate/responses.js'
import type { HeldAnswer } from '../store/Claims.js'
import type { PassUse, Payment } from './Payment.js'

/** The gate's decision on a request. */
export type Decision =
  | FreeDecision
  | GateResponse
  /** The handler runs, and then the payment is settled. */
  | { readonly type: 'paid'; readonly admission: Admission }

/** The route is free, or a hook grants access. */
export type FreeDecision = {
  readonly type: 'free'
  /**
   * Set if a hook grants access to a paid route. Add these headers to the response: shared caches must not serve it to
   * others.
   */
  readonly granted?: HeaderList | undefined
  /** Set if no route of the gate has the path. */
  readonly isUnlisted?: true | undefined
}

/** The gate responds, and the handler does not run. */
export type GateResponse = {
  readonly type: 'response'
  readonly response: Response
  /** Call it if the client disconnects before it has the whole response, so that the response can be sent again. */
  readonly undelivered?: (() => Promise<void>) | undefined
}

/** A request with a valid payment, and the steps required before its response is sent. */
export type Admission = {
  /** The account that pays. */
  readonly payer: string
  readonly transactionId: string
  /** The current state of the payment, as returned by `paymentOf` for the request. */
  readonly payment: () => Payment
  /** The receipt, if the payment was settled before the handler runs. */
  readonly settled: SettleResponse | undefined
  /**
   * Set if an earlier payment's pass opened the request. `payer`, `transactionId` and `settled` then belong to that
   * payment.
   */
  readonly pass?: PassUse | undefined
  /**
   * Whether the response is streamed, with `headers`. Call `settle` at its end, or `cancel` if it fails before.
   * Otherwise, read the whole response and pass it to `settle`, even if the payment was settled before.
   */
  readonly isStreamed: boolean
  /**
   * Whether the handler sets the charge. A streamed response is then sent once: if the client leaves, call `settle` with
   * undefined. The header `Settlement-Overrides` is removed before the response is sent.
   */
  readonly isMetered?: boolean | undefined
  /**
   * Aborted when the time of a metered response that is streamed is up. What was used is charged. Break off the
   * response then, so that the client does not take it for complete: nothing more may be sent.
   */
  readonly cut?: AbortSignal | undefined
  /**
   * Call it with the handler's headers when a metered response begins to be streamed.
   *
   * @throws UsageError for a charge that cannot be made; send an error instead of the response
   */
  readonly noteHeaders?: ((headers: HeaderList) => void) | undefined
  /** Runs the handler inside the span of its request; undefined if nothing is traced. */
  readonly run?: (<T>(handler: () => T) => T) | undefined
  /**
   * Headers for a response that `settle` was not called for: CORS headers, and the receipt if the payment was settled
   * before.
   */
  readonly headers: HeaderList
  /**
   * Call it when the handler succeeded, even if the client has disconnected. Pass the whole response, which is held
   * until the buyer has it. Pass undefined for a streamed response that is too long to be held. Send the response with
   * the returned headers, or send the returned `response` instead.
   */
  readonly settle: (answer: HeldAnswer | undefined) => Promise<{ headers: HeaderList } | { response: Response }>
  /**
   * Call it when the handler failed. The same buyer may send the payment again. Nothing is charged, unless the payment
   * was settled before; it is then not charged again.
   *
   * @param reason for the hook `onVerifiedPaymentCanceled`, `handler_failed` by default
   */
  readonly cancel: (reason?: CancelReason) => Promise<void>
  /**
   * Call it when the client disconnects while the handler runs. Resolves when the handler has ended or its time is up.
   * In the latter case, the request counts as failed, and its response can be dropped.
   */
  readonly disconnected: () => Promise<void>
  /**
   * Call it if the client disconnects before it has the whole paid response. The response is held for the same buyer.
   */
  readonly undelivered: () => Promise<void>
}

/** Whether a response is not held for a client that has left: a response to a pass, and one charged by usage. */
export function isSentOnce({ pass, isMetered }: Pick<Admission, 'pass' | 'isMetered'>): boolean {
  return pass !== undefined || isMetered === true
}
