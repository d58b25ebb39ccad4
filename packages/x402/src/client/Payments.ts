/** The payment log of a buyer: every payment it signed, so that limits hold and no payment is made twice. */
import { BoundedMap } from '@latchkey/algorand'
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
  /** The resource that is paid for. */
  readonly url: string
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

/**
 * A payment log. `MemoryPayments` and `FilePayments` (`@latchkey/x402/file`) are two; another one implements this type.
 * Methods are synchronous, so that the check of a limit and the record of a payment are one step.
 */
export type PaymentLog = {
  /** Records a payment, durably, before it is signed. */
  readonly add: (payment: Payment) => void
  /** Records the state of an open payment. Settled and expired payments keep their state. */
  readonly update: (transactionId: string, state: PaymentState) => void
  /** The payment, or undefined if it is not in the log. */
  readonly get: (transactionId: string) => Payment | undefined
  /** The latest payments, the oldest of them first. */
  readonly all: () => readonly Payment[]
  /** Includes every `add` and `update` at once: two payments at the same time cannot both be the last within a limit. */
  readonly spent: () => Spent
}

/** Options of {@link MemoryPayments}. */
export type MemoryPaymentsOptions = {
  /**
   * How many payments are kept one by one; older ones are only counted.
   *
   * @default 10_000
   */
  maxPayments?: number | undefined
  /**
   * What was spent before.
   *
   * @default nothing
   */
  spent?: Spent | undefined
}

export const defaultMaxPayments = 10_000

/** A payment log in memory: limits over all payments hold as long as the process runs. */
export class MemoryPayments implements PaymentLog {
  /** A payment that is evicted stays counted, whatever its state: a limit is never exceeded for it. */
  readonly #payments: BoundedMap<string, Payment>
  readonly #assets: Map<string, bigint>
  #microDollars: bigint

  constructor({ maxPayments = defaultMaxPayments, spent }: MemoryPaymentsOptions = {}) {
    this.#payments = new BoundedMap(maxPayments)
    this.#microDollars = spent?.microDollars ?? 0n
    this.#assets = new Map(spent?.assets)
  }

  add(payment: Payment): void {
    this.#payments.set(payment.transactionId, payment)
    if (payment.state !== 'expired') this.#count(payment, 1n)
  }

  update(transactionId: string, state: PaymentState): void {
    const payment = this.#payments.get(transactionId)
    // Only an open payment changes: what the ledger has decided is final.
    if (payment?.state !== 'open' || state === 'open') return
    this.#payments.set(transactionId, { ...payment, state })
    if (state === 'expired') this.#count(payment, -1n)
  }

  get(transactionId: string): Payment | undefined {
    return this.#payments.get(transactionId)
  }

  all(): Payment[] {
    return [...this.#payments.values()]
  }

  spent(): Spent {
    return { microDollars: this.#microDollars, assets: this.#assets }
  }

  #count(payment: Payment, sign: 1n | -1n): void {
    const key = assetKey(payment.network, payment.asset)
    this.#assets.set(key, (this.#assets.get(key) ?? 0n) + sign * BigInt(payment.amount))
    this.#microDollars += sign * BigInt(payment.microDollars ?? 0)
  }
}

/** An asset id means another asset on another network. */
export function assetKey(network: string, asset: string): string {
  return `${network} ${asset}`
}

/** A payment that is not in the log, or a log that cannot be read. */
export class PaymentLogError extends X402Error<'unknown_payment' | 'invalid_payment_log'> {
  override name = 'PaymentLogError'
}
