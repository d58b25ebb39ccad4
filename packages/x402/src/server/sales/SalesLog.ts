/**
 * Records the sales of a gate in parallel with the response. Writes many outcomes at once, and retries if the store
 * fails.
 */
import { PartyError } from '../../errors.js'
import type { Sale, SaleStore } from '../store/Sales.js'
import { isFailure } from '../store/Sales.js'

/** Lets concurrent outcomes share a write. */
const batchMs = 20
const maxBatch = 500
const maxQueued = 20_000
/** Anyone can cause failures, so they may use only a tenth of the queue. */
const maxQueuedFailures = 2_000
const firstWaitMs = 500
const maxWaitMs = 30_000
const reportEveryMs = 60_000

export class SalesLog {
  readonly #store: SaleStore | undefined
  readonly #onError: (error: unknown) => void
  readonly #sales: Sale[] = []
  readonly #delivered: string[] = []
  #failures = 0
  #dropped = 0
  #reportedMs = Number.NEGATIVE_INFINITY
  #waitMs = batchMs
  #timer: ReturnType<typeof setTimeout> | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(store: SaleStore | undefined, onError: (error: unknown) => void) {
    this.#store = store
    this.#onError = onError
  }

  /** Queues an outcome. Never throws. */
  add(sale: Sale): void {
    if (this.#store === undefined) return
    const isTooMany = isFailure(sale.outcome) && this.#failures >= maxQueuedFailures
    if (isTooMany || this.#sales.length >= maxQueued) {
      this.#dropped++
      return
    }
    if (isFailure(sale.outcome)) this.#failures++
    this.#sales.push(sale)
    this.#schedule()
  }

  /** Records that a settlement was reported to a hook. */
  delivered(transactionId: string): void {
    if (this.#store === undefined || this.#delivered.length >= maxQueued) return
    this.#delivered.push(transactionId)
    this.#schedule()
  }

  /**
   * Writes the queued outcomes if the store accepts them. Outcomes that cannot be written are reported to `onError`.
   */
  async close(timeoutMs: number): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const endMs = performance.now() + timeoutMs
    let timer: ReturnType<typeof setTimeout> | undefined
    const timeUp = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs)
    })
    while (this.#sales.length + this.#delivered.length > 0 && performance.now() < endMs) {
      const before = this.#sales.length + this.#delivered.length
      await Promise.race([this.#write(), timeUp])
      if (this.#sales.length + this.#delivered.length >= before) break
    }
    clearTimeout(timer)
    clearTimeout(this.#timer)
    if (this.#sales.length > 0) this.#report(`could not record ${outcomes(this.#sales.length)}`)
  }

  #schedule(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#write()
    }, this.#waitMs)
    // A first write keeps the process running. A retry for a failing store does not.
    if (this.#waitMs !== batchMs) this.#timer.unref?.()
  }

  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeBatch())
    return this.#writing
  }

  async #writeBatch(): Promise<void> {
    const sales = this.#sales.slice(0, maxBatch)
    const delivered = this.#delivered.slice(0, maxBatch)
    try {
      if (sales.length > 0) await this.#store?.record(sales)
      this.#sales.splice(0, sales.length)
      this.#failures -= sales.filter(({ outcome }) => isFailure(outcome)).length
      if (delivered.length > 0) await this.#store?.delivered(delivered)
      this.#delivered.splice(0, delivered.length)
      this.#waitMs = batchMs
    } catch (error) {
      this.#reportNow(error)
      this.#waitMs = Math.min(Math.max(firstWaitMs, this.#waitMs * 2), maxWaitMs)
    }
    if (this.#dropped > 0) {
      this.#reportNow(new SalesError('sales_not_recorded', `dropped ${outcomes(this.#dropped)} without recording`))
    }
    if (this.#sales.length + this.#delivered.length > 0) this.#schedule()
  }

  /** A full disk must not fill the log too. */
  #reportNow(error: unknown): void {
    if (performance.now() < this.#reportedMs + reportEveryMs) return
    this.#reportedMs = performance.now()
    this.#dropped = 0
    this.#tell(error)
  }

  #report(message: string): void {
    this.#tell(new SalesError('sales_not_recorded', message))
  }

  #tell(error: unknown): void {
    try {
      this.#onError(error)
    } catch {
      // A reporter that throws must not end the process.
    }
  }
}

function outcomes(count: number): string {
  return count === 1 ? '1 payment outcome' : `${count} payment outcomes`
}

/** Outcomes of payments that are not in the store. Passed to `onError`. */
export class SalesError extends PartyError<'sales_not_recorded'> {
  override name = 'SalesError'
}
