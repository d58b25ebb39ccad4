/**
 * Work that is charged after it is done: responses that are streamed now, and payers that left earlier ones unpaid.
 * All replicas of a seller share the list.
 */
import { BoundedMap } from '@latchkey/algorand'

/** A metered response that is being sent, with everything that its settlement needs. */
export type MeteredWork = {
  /** The id of the authorization. */
  readonly transactionId: string
  readonly payer: string
  /** What was used so far, in base units. */
  readonly charge: bigint
  /** The settlement to ask for, as JSON. */
  readonly order: string
}

/**
 * Stores metered work and unpaid payers. A store for several machines uses the clock of its database, not the times
 * that it is given.
 */
export type UsageStore = {
  /** Whether a payer left work unpaid, and is still refused. */
  readonly isUnpaid: (payer: string, nowMs: number) => Promise<boolean> | boolean
  /** How many authorizations the payers that are refused now have left unpaid. Counts to `limit` and no further. */
  readonly countUnpaid: (limit: number, nowMs: number) => Promise<number> | number
  /**
   * Stores work that begins or continues. The gate does that at short intervals: work that was not stored for
   * `leaseMs` belongs to a gate that ended. Returns false, and stores nothing, if the payer is refused; the work must
   * then stop.
   */
  readonly note: (work: MeteredWork, leaseMs: number, nowMs: number) => Promise<boolean> | boolean
  /** The charge of work that was not ended; undefined if there is none. */
  readonly chargeOf: (transactionId: string) => Promise<bigint | undefined> | bigint | undefined
  /** Deletes work that was settled, or that costs nothing. */
  readonly end: (transactionId: string) => Promise<void> | void
  /** Deletes work that was not paid, and refuses its payer from now on, atomically. */
  readonly leaveUnpaid: (unpaid: UnpaidWork, nowMs: number) => Promise<void> | void
  /** Returns work of gates that ended, and leases it to the caller: no other call gets it before `leaseMs` has passed. */
  readonly takeAbandoned: (
    limit: number,
    leaseMs: number,
    nowMs: number,
  ) => Promise<readonly MeteredWork[]> | readonly MeteredWork[]
}

/** Work that was not paid. */
export type UnpaidWork = {
  readonly transactionId: string
  readonly payer: string
  /** How long the payer is refused. */
  readonly refuseMs: number
}

/** How many payers a store refuses at a time. Each costs an account and a loss; the oldest is forgotten first. */
export const maxUnpaidPayers = 100_000

/** Metered work in memory. */
export class MemoryUsage implements UsageStore {
  readonly #work = new Map<string, { readonly work: MeteredWork; untilMs: number }>()
  /** Keyed by payer, those that left work unpaid last at the end. */
  readonly #unpaid: BoundedMap<string, { readonly untilMs: number; readonly count: number }>

  constructor(maxPayers = maxUnpaidPayers) {
    this.#unpaid = new BoundedMap(maxPayers)
  }

  isUnpaid(payer: string, nowMs: number): boolean {
    return nowMs < (this.#unpaid.get(payer)?.untilMs ?? Number.NEGATIVE_INFINITY)
  }

  countUnpaid(limit: number, nowMs: number): number {
    let total = 0
    for (const { untilMs, count } of this.#unpaid.values()) if (nowMs < untilMs && total < limit) total += count
    return Math.min(total, limit)
  }

  note(work: MeteredWork, leaseMs: number, nowMs: number): boolean {
    if (this.isUnpaid(work.payer, nowMs)) return false
    this.#work.set(work.transactionId, { work, untilMs: nowMs + leaseMs })
    return true
  }

  chargeOf(transactionId: string): bigint | undefined {
    return this.#work.get(transactionId)?.work.charge
  }

  end(transactionId: string): void {
    this.#work.delete(transactionId)
  }

  leaveUnpaid({ transactionId, payer, refuseMs }: UnpaidWork, nowMs: number): void {
    this.#work.delete(transactionId)
    const earlier = this.isUnpaid(payer, nowMs) ? this.#unpaid.get(payer)!.count : 0
    this.#unpaid.delete(payer)
    for (const [other, { untilMs }] of this.#unpaid) {
      if (nowMs < untilMs) break
      this.#unpaid.delete(other)
    }
    this.#unpaid.set(payer, { untilMs: nowMs + refuseMs, count: earlier + 1 })
  }

  takeAbandoned(limit: number, leaseMs: number, nowMs: number): MeteredWork[] {
    const abandoned = [...this.#work.values()].filter(({ untilMs }) => untilMs < nowMs).slice(0, limit)
    for (const one of abandoned) one.untilMs = nowMs + leaseMs
    return abandoned.map(({ work }) => work)
  }
}
