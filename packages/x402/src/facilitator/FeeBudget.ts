/** The fees that were paid in the last day, for each seller and for all: a rolling sum in parts of a quarter of an hour. */
import type { PaidFees, Settlement } from '../store/Settlements.js'
import { PaymentError } from './PaymentError.js'

export type FeeLimits = { readonly each: bigint | undefined; readonly all: bigint | undefined }

const dayMs = 24 * 60 * 60 * 1000
export const partMs = 15 * 60 * 1000
/**
 * Sellers for whom fees were paid in one day. None is evicted, because that would reset its limit; a further one is refused.
 * Each has cost at least one fee, so that a stranger cannot fill this for nothing.
 */
const maxSellers = 100_000
const allSellers = ''

type Spent = { payTo: string; fromMs: number; feeMicroAlgos: bigint }

/** The fees of one seller, by the part of the day. A part counts until all of it is a day old. */
class DailySum {
  readonly #parts = new Map<number, bigint>()
  sum = 0n

  add(fromMs: number, feeMicroAlgos: bigint): void {
    this.#parts.set(fromMs, (this.#parts.get(fromMs) ?? 0n) + feeMicroAlgos)
    this.sum += feeMicroAlgos
  }

  removeBefore(ms: number): void {
    for (const [fromMs, fees] of this.#parts) {
      if (fromMs + partMs > ms) continue
      this.sum -= fees
      this.#parts.delete(fromMs)
    }
  }

  take(fromMs: number, feeMicroAlgos: bigint): void {
    // A part that is no longer counted has nothing to give back.
    if (this.#parts.has(fromMs)) this.add(fromMs, -feeMicroAlgos)
  }
}

export class FeeBudget {
  readonly #limits: FeeLimits
  readonly #nowMs: () => number
  readonly #sums = new Map<string, DailySum>([[allSellers, new DailySum()]])
  /** What is reserved for settlements that have not ended, by transaction id. */
  readonly #open = new Map<string, Spent>()

  constructor(limits: FeeLimits, nowMs: () => number) {
    this.#limits = limits
    this.#nowMs = nowMs
  }

  get isLimited(): boolean {
    return this.#limits.each !== undefined || this.#limits.all !== undefined
  }

  get oldestMs(): number {
    return this.#nowMs() - dayMs
  }

  /** Counts what an earlier process paid, and what it has not finished. */
  restore(paid: readonly PaidFees[], pending: readonly Settlement[]): void {
    for (const one of paid) this.#add(one)
    for (const { transactionId, payTo, feeMicroAlgos, createdMs } of pending) {
      if (feeMicroAlgos > 0n) this.#reserve(transactionId, payTo, feeMicroAlgos, createdMs)
    }
  }

  /** @throws PaymentError */
  check(payTo: string, feeMicroAlgos: bigint): void {
    if (feeMicroAlgos === 0n || !this.isLimited) return
    const { each, all } = this.#limits
    const total = this.#sumOf(allSellers)
    if (all !== undefined && total + feeMicroAlgos > all) {
      refuse('the fees paid today have reached their limit; buyers can pay their own')
    }
    const isNew = !this.#sums.has(payTo)
    if (each !== undefined && this.#sumOf(payTo) + feeMicroAlgos > each) {
      refuse(`the fees paid today for ${payTo} have reached their limit; buyers can pay their own`)
    }
    if (isNew && this.#sums.size >= maxSellers && this.#removeOld() >= maxSellers) {
      refuse('the fees paid today have reached the limit of sellers; buyers can pay their own')
    }
  }

  /**
   * Reserves a fee before it is spent, so that concurrent settlements cannot exceed a limit together. Returns whether it was
   * not reserved before.
   *
   * @throws PaymentError
   */
  reserve(transactionId: string, payTo: string, feeMicroAlgos: bigint): boolean {
    if (feeMicroAlgos === 0n || !this.isLimited || this.#open.has(transactionId)) return false
    this.check(payTo, feeMicroAlgos)
    this.#reserve(transactionId, payTo, feeMicroAlgos, this.#nowMs())
    return true
  }

  /** Gives back what was not spent. */
  release(transactionId: string): void {
    const spent = this.#open.get(transactionId)
    if (spent === undefined) return
    this.#open.delete(transactionId)
    for (const key of [spent.payTo, allSellers]) this.#sums.get(key)?.take(spent.fromMs, spent.feeMicroAlgos)
  }

  /** The fee was spent. */
  keep(transactionId: string): void {
    this.#open.delete(transactionId)
  }

  #reserve(transactionId: string, payTo: string, feeMicroAlgos: bigint, ms: number): void {
    const spent = { payTo, fromMs: ms - (ms % partMs), feeMicroAlgos }
    this.#open.set(transactionId, spent)
    this.#add(spent)
  }

  #add({ payTo, fromMs, feeMicroAlgos }: Spent): void {
    for (const key of [payTo, allSellers]) {
      const sum = this.#sums.get(key) ?? new DailySum()
      this.#sums.set(key, sum)
      sum.add(fromMs, feeMicroAlgos)
    }
  }

  #sumOf(key: string): bigint {
    const sum = this.#sums.get(key)
    sum?.removeBefore(this.oldestMs)
    return sum?.sum ?? 0n
  }

  /** The number of sellers that are left. */
  #removeOld(): number {
    for (const key of [...this.#sums.keys()]) {
      if (this.#sumOf(key) === 0n && key !== allSellers) this.#sums.delete(key)
    }
    return this.#sums.size
  }
}

function refuse(message: string): never {
  throw new PaymentError('facilitator_policy_refused', message)
}
