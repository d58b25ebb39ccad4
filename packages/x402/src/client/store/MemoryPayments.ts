import type { Payment, PaymentLog, PaymentState, Spent, UnansweredPayment } from './Payments.js'
import { PaymentTable } from './PaymentTable.js'

/** Options of {@link MemoryPayments}. */
export type MemoryPaymentsOptions = {
  /**
   * How many payments are kept individually. Older payments are only counted.
   *
   * @default 10_000
   */
  maxPayments?: number | undefined
  /**
   * The amounts spent before.
   *
   * @default nothing
   */
  spent?: Spent | undefined
}

export const defaultMaxPayments = 10_000

const owner = 'this process'

/** A payment log in memory. Limits over all payments hold as long as the process runs. */
export class MemoryPayments implements PaymentLog {
  readonly #table: PaymentTable

  constructor({ maxPayments = defaultMaxPayments, spent }: MemoryPaymentsOptions = {}) {
    this.#table = new PaymentTable(maxPayments, spent)
  }

  add(payment: Payment): void {
    this.#table.add(payment, { owner })
  }

  update(transactionId: string, state: PaymentState): void {
    this.#table.change({ transactionId, state })
  }

  get(transactionId: string): Payment | undefined {
    return this.#table.get(transactionId)
  }

  all(): Payment[] {
    return this.#table.all()
  }

  spent(): Spent {
    return this.#table.spent()
  }

  exclusive<T>(work: () => T): T {
    return work()
  }

  keep(transactionId: string, header: string): void {
    this.#table.change({ transactionId, header })
  }

  resume(requestId: string, networks: readonly string[]): UnansweredPayment | undefined {
    const found = this.#table.find(requestId, networks, () => true)
    if (found !== undefined) this.#table.change({ transactionId: found.payment.transactionId, owner })
    return found
  }

  finish(transactionId: string, outcome: 'answered' | 'unanswered'): void {
    this.#table.change({ transactionId, owner: null, header: outcome === 'answered' ? null : undefined })
  }
}
