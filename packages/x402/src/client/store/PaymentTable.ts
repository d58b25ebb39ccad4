/** Payments in memory: their totals, and which of them have no answer yet. */
import { BoundedMap } from '@latchkey/algorand'
import { assetKey, type Payment, type PaymentState, type Spent, type UnansweredPayment } from './Payments.js'

/** A change of a payment. */
export type Change = {
  readonly transactionId: string
  readonly state?: PaymentState | undefined
  /** The header that sends the payment again; null if the payment is not sent again. */
  readonly header?: string | null | undefined
  /** The process that waits for the answer; null if none does. */
  readonly owner?: string | null | undefined
}

/** A payment without an answer. */
export type Unanswered = { readonly header?: string | undefined; readonly owner?: string | undefined }

/** Payments beyond this number are counted but not sent again. */
const maxUnanswered = 10_000
/**
 * Sellers keep the answer to a settled payment for minutes. After this time a new payment may be made for the request.
 */
const settledMs = 60 * 60 * 1000

export class PaymentTable {
  /** An evicted payment stays counted in any state, so a limit is never exceeded because of it. */
  readonly #payments: BoundedMap<string, Payment>
  readonly #unanswered = new BoundedMap<string, Unanswered>(maxUnanswered)
  readonly #assets: Map<string, bigint>
  #microDollars: bigint

  constructor(maxPayments: number, spent?: Spent | undefined) {
    this.#payments = new BoundedMap(maxPayments)
    this.#microDollars = spent?.microDollars ?? 0n
    this.#assets = new Map(spent?.assets)
  }

  add(payment: Payment, unanswered: Unanswered): void {
    this.#payments.set(payment.transactionId, payment)
    // Without a request, the payment cannot be sent again.
    if (payment.requestId !== undefined) this.#unanswered.set(payment.transactionId, unanswered)
    if (payment.state !== 'expired') this.#count(payment, 1n)
  }

  change({ transactionId, state, header, owner }: Change): void {
    const payment = this.#payments.get(transactionId)
    if (payment === undefined) return
    // Only an open payment changes its state. The decision of the ledger is final.
    if (payment.state === 'open' && state !== undefined && state !== 'open') {
      this.#payments.set(transactionId, { ...payment, state })
      if (state === 'expired') this.#count(payment, -1n)
    }
    const before = this.#unanswered.get(transactionId)
    const isOver = header === null || this.#payments.get(transactionId)?.state === 'expired'
    if (isOver) this.#unanswered.delete(transactionId)
    else if (payment.requestId !== undefined && (header !== undefined || owner !== undefined)) {
      const after = {
        header: header ?? before?.header,
        owner: owner === undefined ? before?.owner : (owner ?? undefined),
      }
      this.#unanswered.set(transactionId, after)
    }
  }

  get count(): number {
    return this.#payments.size
  }

  get(transactionId: string): Payment | undefined {
    return this.#payments.get(transactionId)
  }

  all(): Payment[] {
    return [...this.#payments.values()]
  }

  unanswered(transactionId: string): Unanswered {
    return this.#unanswered.get(transactionId) ?? {}
  }

  spent(): Spent {
    return { microDollars: this.#microDollars, assets: this.#assets }
  }

  /** The oldest payment for a request that can be sent again and that no process waits for. */
  find(
    requestId: string,
    networks: readonly string[],
    isAwaited: (owner: string) => boolean,
  ): UnansweredPayment | undefined {
    for (const [transactionId, { header, owner }] of this.#unanswered.entries()) {
      const payment = this.#payments.get(transactionId)
      if (payment?.requestId !== requestId || header === undefined || !isOpenToAnswer(payment)) continue
      if (!networks.includes(payment.network)) continue
      if (owner === undefined || !isAwaited(owner)) return { payment, header }
    }
    return undefined
  }

  #count(payment: Payment, sign: 1n | -1n): void {
    const key = assetKey(payment.network, payment.asset)
    this.#assets.set(key, (this.#assets.get(key) ?? 0n) + sign * BigInt(payment.amount))
    this.#microDollars += sign * BigInt(payment.microDollars ?? 0)
  }
}

function isOpenToAnswer({ state, signedMs }: Payment): boolean {
  return state === 'open' || (state === 'settled' && Date.now() - signedMs < settledMs)
}
