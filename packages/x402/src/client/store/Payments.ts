/** The payment log of a buyer. Records every signed payment, so that limits hold and no payment is made twice. */
import { PartyError } from '../../errors.js'

/**
 * The state of a payment. `open`: signed, and may still be settled. `settled`: on the ledger. `expired`: can never be
 * settled.
 */
export type PaymentState = 'open' | 'settled' | 'expired'

/** A payment in the payment log. Amounts and rounds are decimal strings. */
export type Payment = {
  readonly transactionId: string
  /** The canonical CAIP-2 id. */
  readonly network: string
  /** The URL that the buyer requested; empty if the caller of `Buyer.pay` did not pass a request. */
  readonly url: string
  /** The seller's name for the resource. This is an unconfirmed claim. */
  readonly claimedResource?: string | undefined
  /** Identifies the paid request by payer, method, URL, headers and body. */
  readonly requestId?: string | undefined
  readonly payTo: string
  /** The id of the asset; `0` is ALGO. */
  readonly asset: string
  /** The amount in base units. */
  readonly amount: string
  /** The amount in millionths of a dollar, if the asset is the dollar of its network. */
  readonly microDollars: string | undefined
  /** The first round in which the payment can be settled. */
  readonly firstValid: string
  /** The last round in which the payment can be settled. */
  readonly lastValid: string
  /** When the payment was signed, in milliseconds since 1970. */
  readonly signedMs: number
  readonly state: PaymentState
}

/** The totals of all payments that are settled or may still be settled. */
export type Spent = {
  readonly microDollars: bigint
  /** Base units by network and asset: the key is `<CAIP-2 id> <asset id>`. */
  readonly assets: ReadonlyMap<string, bigint>
}

/** A payment that was sent and has no answer. */
export type UnansweredPayment = {
  readonly payment: Payment
  /** The PAYMENT-SIGNATURE header that sends the payment again. May contain the buyer's secret. */
  readonly header: string
}

/**
 * A payment log, implemented by `MemoryPayments` and `FilePayments` (`@latchkey/x402/file`). Implement this type to use
 * another store. Methods are synchronous, so that checking a limit and recording a payment are one step.
 */
export type PaymentLog = {
  /** Records a payment durably, before it is signed. The caller then waits for the answer until it calls `finish`. */
  readonly add: (payment: Payment) => void
  /** Records the state of an open payment. Settled and expired payments keep their state. */
  readonly update: (transactionId: string, state: PaymentState) => void
  /** The payment; undefined if it is not in the log. */
  readonly get: (transactionId: string) => Payment | undefined
  /** The latest payments, the oldest first. */
  readonly all: () => readonly Payment[]
  /**
   * Includes every `add` and `update` immediately, so that two concurrent payments cannot both use the rest of a limit.
   */
  readonly spent: () => Spent
  /** Runs `work` while no other process can change the log, after reading the records of other processes. */
  readonly exclusive: <T>(work: () => T) => T
  /** Records the header that sends a payment again, durably, before the payment is first sent. */
  readonly keep: (transactionId: string, header: string) => void
  /**
   * Returns the oldest payment for a request on one of the networks that was sent and has no answer, may still be
   * settled or answered, and has no waiting caller in this or another process. The caller then waits for its answer.
   */
  readonly resume: (requestId: string, networks: readonly string[]) => UnansweredPayment | undefined
  /** Ends the wait for an answer. An answered payment is not sent again, and its header is deleted. */
  readonly finish: (transactionId: string, outcome: 'answered' | 'unanswered') => void
}

/** Includes the network, because the same asset id is a different asset on another network. */
export function assetKey(network: string, asset: string): string {
  return `${network} ${asset}`
}

type PaymentLogErrorCode = 'unknown_payment' | 'invalid_payment_log' | 'payment_log_locked' | 'payment_log_unwritable'

/** A payment that is not in the log, or a log that cannot be read or written. */
export class PaymentLogError extends PartyError<PaymentLogErrorCode> {
  override name = 'PaymentLogError'
}
