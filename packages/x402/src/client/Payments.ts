/** The payment log of a buyer: every payment it signed, so that limits hold and no payment is made twice. */
import { X402Error } from '../errors.js'

/**
 * Where a payment stands: `open` is signed and may still be settled, `settled` is on the ledger, `expired` can never be
 * settled any more.
 */
export type PaymentState = 'open' | 'settled' | 'expired'

/** A payment as the log records it. Amounts and rounds are decimal strings. */
export type Payment = {
  readonly transactionId: string
  /** The canonical CAIP-2 id. */
  readonly network: string
  /** The URL that the buyer requested; empty where the caller of `Buyer.pay` did not say. */
  readonly url: string
  /** The resource as the seller named it: a claim, which nothing confirms. */
  readonly claimedResource?: string | undefined
  /** Identifies the request that is paid for: payer, method, URL, headers and body. */
  readonly requestId?: string | undefined
  readonly payTo: string
  /** The id of the asset; `0` is the ALGO. */
  readonly asset: string
  /** In base units. */
  readonly amount: string
  /** The amount in millionths of a dollar, if the asset is the dollar of its network. */
  readonly microDollars: string | undefined
  /** The first round in which it can be settled. */
  readonly firstValid: string
  /** The last round in which it can be settled. */
  readonly lastValid: string
  /** When it was signed, in milliseconds since 1970. */
  readonly signedMs: number
  readonly state: PaymentState
}

/** What all payments amount to that are settled or may still be. */
export type Spent = {
  readonly microDollars: bigint
  /** Base units by network and asset: the key is `<CAIP-2 id> <asset id>`. */
  readonly assets: ReadonlyMap<string, bigint>
}

/** A payment that was sent, with what sends it again. */
export type UnansweredPayment = {
  readonly payment: Payment
  /** The value of the header PAYMENT-SIGNATURE that sends the payment again; it may have the buyer's secret. */
  readonly header: string
}

/**
 * A payment log. `MemoryPayments` and `FilePayments` (`@latchkey/x402/file`) are two; another one implements this type.
 * Methods are synchronous, so that the check of a limit and the record of a payment are one step.
 */
export type PaymentLog = {
  /** Records a payment, durably, before it is signed. The caller waits for its answer until it calls `finish`. */
  readonly add: (payment: Payment) => void
  /** Records the state of an open payment. Settled and expired payments keep their state. */
  readonly update: (transactionId: string, state: PaymentState) => void
  /** The payment, or undefined if it is not in the log. */
  readonly get: (transactionId: string) => Payment | undefined
  /** The latest payments, the oldest of them first. */
  readonly all: () => readonly Payment[]
  /** Includes every `add` and `update` at once: two payments at the same time cannot both be the last within a limit. */
  readonly spent: () => Spent
  /** Runs `work` while no other process can change the log, after what others recorded was read. */
  readonly exclusive: <T>(work: () => T) => T
  /** Records the header that sends a payment again, durably, before it is sent the first time. */
  readonly keep: (transactionId: string, header: string) => void
  /**
   * The oldest payment for a request, on one of the networks, that was sent, has no answer, may still be settled or
   * answered, and that no caller, in this process or another, waits for. From then on the caller waits for it.
   */
  readonly resume: (requestId: string, networks: readonly string[]) => UnansweredPayment | undefined
  /** Ends the wait for an answer. A payment that is answered is not sent again, and its header is forgotten. */
  readonly finish: (transactionId: string, outcome: 'answered' | 'unanswered') => void
}

/** An asset id means another asset on another network. */
export function assetKey(network: string, asset: string): string {
  return `${network} ${asset}`
}

type PaymentLogErrorCode = 'unknown_payment' | 'invalid_payment_log' | 'payment_log_locked' | 'payment_log_unwritable'

/** A payment that is not in the log, or a log that cannot be read or written. */
export class PaymentLogError extends X402Error<PaymentLogErrorCode> {
  override name = 'PaymentLogError'
}
