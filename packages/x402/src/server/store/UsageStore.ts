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
  /** Stores work that begins. Returns false, and stores nothing, if the payer is refused. */
  readonly begin: (work: MeteredWork, leaseMs: number, nowMs: number) => Promise<boolean> | boolean
  /**
   * Stores the charge of work that continues. The gate does that at short intervals: work that was not stored for
   * `leaseMs` belongs to a gate that ended. Work that has ended, or that another gate has taken, is left as it is.
   */
  readonly note: (work: NotedWork, leaseMs: number, nowMs: number) => Promise<WorkState> | WorkState
  /** The charge of work that was not ended; undefined if there is none. */
  readonly chargeOf: (transactionId: string) => Promise<bigint | undefined> | bigint | undefined
  /** Takes work from its gate, which may still run: its charge is final from then on. Returns the charge. */
  readonly takeOver: (transactionId: string) => Promise<bigint | undefined> | bigint | undefined
  /** Leaves work that was not ended to the first call of `takeAbandoned` after `afterMs`, with this order. */
  readonly giveBack: (work: ReturnedWork, afterMs: number, nowMs: number) => Promise<void> | void
  /** Deletes work that was settled, or that costs nothing. */
  readonly end: (transactionId: string) => Promise<void> | void
  /** Deletes work that was not paid, and refuses its payer from now on, atomically. */
  readonly leaveUnpaid: (unpaid: UnpaidWork, nowMs: number) => Promise<void> | void
  /**
   * Takes work of gates that ended, as `takeOver` does, and leases it to the caller: no other call gets it before
   * `leaseMs` has passed.
   */
  readonly takeAbandoned: (
    limit: number,
    leaseMs: number,
    nowMs: number,
  ) => Promise<readonly MeteredWork[]> | readonly MeteredWork[]
}

/** Work that continues, with its charge so far. */
export type NotedWork = Pick<MeteredWork, 'transactionId' | 'payer' | 'charge'>
/** Work that is left to another gate. */
export type ReturnedWork = Pick<MeteredWork, 'transactionId' | 'order'>

/**
 * The state of noted work. `refused`: the payer is refused, so that the work must stop. `gone`: another gate has ended
 * the work, or ends it.
 */
export type WorkState = 'noted' | 'refused' | 'gone'

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
  readonly #work = new Map<string, { work: MeteredWork; untilMs: number; isTaken: boolean }>()
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

  begin(work: MeteredWork, leaseMs: number, nowMs: number): boolean {
    if (this.isUnpaid(work.payer, nowMs)) return false
    this.#work.set(work.transactionId, { work, untilMs: nowMs + leaseMs, isTaken: false })
    return true
  }

  note({ transactionId, payer, charge }: NotedWork, leaseMs: number, nowMs: number): WorkState {
    const known = this.#work.get(transactionId)
    if (known === undefined || known.isTaken) return 'gone'
    known.work = { ...known.work, charge }
    known.untilMs = nowMs + leaseMs
    return this.isUnpaid(payer, nowMs) ? 'refused' : 'noted'
  }

  chargeOf(transactionId: string): bigint | undefined {
    return this.#work.get(transactionId)?.work.charge
  }

  takeOver(transactionId: string): bigint | undefined {
    const known = this.#work.get(transactionId)
    if (known !== undefined) known.isTaken = true
    return known?.work.charge
  }

  giveBack({ transactionId, order }: ReturnedWork, afterMs: number, nowMs: number): void {
    const known = this.#work.get(transactionId)
    if (known === undefined) return
    this.#work.set(transactionId, { work: { ...known.work, order }, untilMs: nowMs + afterMs, isTaken: true })
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
    for (const one of abandoned) Object.assign(one, { untilMs: nowMs + leaseMs, isTaken: true })
    return abandoned.map(({ work }) => work)
  }
}
