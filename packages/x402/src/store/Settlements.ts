/**
 * The settlements of a facilitator: recorded before anything is submitted, by the id of the transaction that pays, so that
 * a payment is submitted once and gets the same result however often it is requested.
 */
import { MemoryLimits } from './MemoryLimits.js'
import type { Settlement, SettlementOutcome } from './Settlement.js'
import type { SettlementLeases } from './SettlementLeases.js'
import type { SettlementClaim, SettlementLimits } from './SettlementLimits.js'
import type { SharedHolds } from './SharedHolds.js'
import type { SharedSettings } from './SharedSettings.js'

export type { Settlement, SettlementOutcome, SettlementState } from './Settlement.js'

/** The connections of one process to the database of a store. */
export type StoreConnections = {
  readonly inUse: number
  readonly idle: number
  /** Calls that wait for a connection. */
  readonly waiting: number
  /** The most connections that are opened. */
  readonly max: number
}

/**
 * A store of settlements, shared by all replicas of a facilitator. `MemorySettlements`, `SqliteSettlements`
 * (`@latchkey/x402/sqlite`) and `PostgresSettlements` (`@latchkey/x402/postgres`) are three; a store on another database
 * implements this type. What cannot be done throws; a change whose outcome is not known throws too, and is looked up by `get`.
 */
export type SettlementStore = {
  /**
   * Records a settlement, durably, if there is none of that id and the limits allow it, and counts it: of concurrent calls
   * exactly one records it. One that is known is `known` also where a limit is reached.
   */
  readonly claim: (settlement: Settlement, limits: SettlementLimits) => Promise<SettlementClaim> | SettlementClaim
  /** The settlement, or undefined if it is not recorded. */
  readonly get: (transactionId: string) => Promise<Settlement | undefined> | Settlement | undefined
  /**
   * Ends a pending settlement. One that ended keeps its state, except that `failed` can become `settled`. The fee of one that
   * failed counts no longer; it counts again if it is settled after all. In a store with leases only the replica that has
   * the lease can end one as `failed`: another one may find it on the ledger.
   *
   * @returns the settlement as it is recorded, if this call has not ended it: the answer has to agree with that
   */
  readonly finish: (
    transactionId: string,
    outcome: SettlementOutcome,
  ) => Promise<Settlement | undefined> | Settlement | undefined
  /**
   * As `finish` with what the ledger has, without waiting for the disk. Calls on this store see it at once, other processes
   * soon; a process that is killed before it is recorded finds it on the ledger again. It is repeated until it is recorded or
   * the store is closed. Only of stores where that takes less.
   *
   * @param onError called if it cannot be recorded, the first time
   */
  readonly settleSoon?:
    | ((transactionId: string, outcome: SettlementOutcome, onError: (error: unknown) => void) => void)
    | undefined
  /** Whether nodes reject a pending settlement: it does not count for its `payTo` then. */
  readonly setRejected: (transactionId: string, isRejected: boolean) => Promise<void> | void
  /** Which limit, if any, a payment would meet now. Counts nothing, and promises nothing. */
  readonly check: (
    payment: Pick<Settlement, 'payer' | 'payTo' | 'feeMicroAlgos'>,
    limits: SettlementLimits,
  ) => Promise<keyof SettlementLimits | undefined> | keyof SettlementLimits | undefined
  /**
   * All pending settlements, the oldest one first; of a store with leases those whose lease has ended, which this call takes
   * over.
   */
  readonly pending: () => Promise<readonly Settlement[]> | readonly Settlement[]
  /** Deletes or archives settlements that are older and not pending. */
  readonly forgetBefore: (createdMs: number) => Promise<void> | void
  /** Payments that are verified, over all replicas. Only of stores that several machines share. */
  readonly holds?: SharedHolds | undefined
  /** Which replica works on which settlement. Only of stores that several machines share. */
  readonly leases?: SettlementLeases | undefined
  /** Whether the store can be used now, for /health: throws if not. */
  readonly ping?: (() => Promise<void>) | undefined
  /** What replicas tell each other about their settings. Only of stores that several machines share. */
  readonly settings?: SharedSettings | undefined
  /** The connections of this process to the database, for metrics. */
  readonly connections?: StoreConnections | undefined
  /** Counts a request of a caller, and returns how many it had in this minute over all replicas, this one included. */
  readonly countCaller?: ((name: string) => Promise<number>) | undefined
  /** Releases the resources of the store. */
  readonly close: () => Promise<void> | void
}

/** Of settlements that ended, the oldest are deleted first. A payment on the ledger is still found there. */
const maxSettlements = 100_000

/** Settlements in memory: after a restart a pending payment is found on the ledger only. */
export class MemorySettlements implements SettlementStore {
  readonly #settlements = new Map<string, Settlement>()
  readonly #limits: MemoryLimits

  constructor() {
    // Looked up with every call: tests replace the clock.
    this.#limits = new MemoryLimits(() => Date.now())
  }

  claim(settlement: Settlement, limits: SettlementLimits): SettlementClaim {
    const known = this.#settlements.get(settlement.transactionId)
    if (known !== undefined) return { type: 'known', settlement: known }
    const limit = this.#limits.check(settlement, limits)
    if (limit !== undefined) return { type: 'limited', limit }
    this.#settlements.set(settlement.transactionId, settlement)
    this.#limits.count(settlement, limits)
    if (this.#settlements.size > maxSettlements) this.#deleteOldest()
    return { type: 'recorded' }
  }

  get(transactionId: string): Settlement | undefined {
    return this.#settlements.get(transactionId)
  }

  finish(transactionId: string, outcome: SettlementOutcome): Settlement | undefined {
    const settlement = this.#settlements.get(transactionId)
    if (settlement === undefined || settlement.state === 'settled') return settlement
    if (settlement.state === 'failed' && outcome.state !== 'settled') return settlement
    const { errorReason: _, errorMessage: __, ...rest } = settlement
    this.#settlements.set(transactionId, { ...rest, ...outcome })
    this.#limits.end(settlement, outcome.state)
    return undefined
  }

  setRejected(transactionId: string, isRejected: boolean): void {
    const settlement = this.#settlements.get(transactionId)
    if (settlement?.state === 'pending') this.#limits.setRejected(settlement, isRejected)
  }

  check(
    payment: Pick<Settlement, 'payer' | 'payTo' | 'feeMicroAlgos'>,
    limits: SettlementLimits,
  ): keyof SettlementLimits | undefined {
    return this.#limits.check(payment, limits)
  }

  pending(): Settlement[] {
    return [...this.#settlements.values()].filter(({ state }) => state === 'pending')
  }

  forgetBefore(createdMs: number): void {
    for (const [transactionId, settlement] of this.#settlements) {
      if (settlement.state !== 'pending' && settlement.createdMs < createdMs) this.#delete(transactionId)
    }
  }

  close(): void {}

  #deleteOldest(): void {
    for (const [transactionId, { state }] of this.#settlements) {
      if (state === 'pending') continue
      this.#delete(transactionId)
      return
    }
  }

  #delete(transactionId: string): void {
    this.#settlements.delete(transactionId)
    this.#limits.forget(transactionId)
  }
}
