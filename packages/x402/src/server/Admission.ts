/** What a gate hands to an adapter, and gets back from it. */
import type { HeldAnswer } from '../store/HeldAnswer.js'
import type { SettleResponse } from '../wire/types.js'
import type { PassUse, Payment } from './Payment.js'
import type { HeaderList } from './responses.js'

/** What to do with a request. */
export type Decision =
  /** Not a paid route. */
  | { readonly type: 'free' }
  /** The gate responds; the handler does not run. */
  | {
      readonly type: 'response'
      readonly response: Response
      /** Call it if the client has disconnected before it had all of the response: it can be sent again then. */
      readonly undelivered?: (() => Promise<void>) | undefined
    }
  /** The handler runs, and then the payment is settled. */
  | { readonly type: 'paid'; readonly admission: Admission }

/** A request with a valid payment, and what must be done before its response is sent. */
export type Admission = {
  /** The account that pays. */
  readonly payer: string
  readonly transactionId: string
  /** The payment as it is now: `paymentOf` of the request returns the same. */
  readonly payment: () => Payment
  /** The receipt, if the payment was settled before the handler runs. */
  readonly settled: SettleResponse | undefined
  /** Set if an earlier payment opened the request by a pass: `payer`, `transactionId` and `settled` are of that payment. */
  readonly pass?: PassUse | undefined
  /**
   * Whether the response is sent as it is made, with `headers`; call `settle` at its end, or `cancel` if it fails before.
   * Otherwise it is read to its end and passed to `settle`, also if it was settled before.
   */
  readonly isStreamed: boolean
  /** Runs the handler inside the span of its request; undefined where nothing is traced. */
  readonly run?: (<T>(handler: () => T) => T) | undefined
  /** To be added to a response that `settle` was not called for: for CORS, and the receipt if it was settled before. */
  readonly headers: HeaderList
  /**
   * Call it when the handler succeeded, also if the client has disconnected, with all of its response, which is held until
   * the buyer has it; without one, if it was streamed and is too long to be held. Send it with these headers, or `response`
   * instead.
   */
  readonly settle: (answer: HeldAnswer | undefined) => Promise<{ headers: HeaderList } | { response: Response }>
  /**
   * Call it when the handler failed: the payment may be sent again by the same buyer. Nothing is charged, unless it was
   * settled before; then it is not charged again.
   */
  readonly cancel: () => Promise<void>
  /**
   * Call it when the client disconnects while the handler runs. Resolves when the handler has ended or its time is up;
   * then it was as if it had failed, and its response can be dropped.
   */
  readonly disconnected: () => Promise<void>
  /** Call it if the client has disconnected before it had all of the paid response: it is held for the same buyer. */
  readonly undelivered: () => Promise<void>
}
