/**
 * The settlements of a facilitator. Settlements are recorded before anything is submitted, by the id of the transaction
 * that pays, so that a payment is submitted once and every request for it gets the same result.
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
  /** The maximum number of connections. */
  readonly max: number
}

/**
 * A store of settlements, shared by all replicas of a facilitator: `MemorySettlements`, `SqliteSettlements`
 * (`@latchkey/x402/sqlite`) or `PostgresSettlements` (`@latchkey/x402/postgres`). Implement this type for another
 * database. Methods throw if an operation fails. Methods also throw for a change whose outcome is not known, which is
 * then looked up with `get`.
 */
export type SettlementStore = {
  /**
   * Records a settlement durably if its id is new and the limits allow it, and counts it. Of concurrent calls exactly
   * one records it. A known settlement is `known` even if a limit is reached.
   */
  readonly claim: (settlement: Settlement, limits: SettlementLimits) => Promise<SettlementClaim> | SettlementClaim
  /** The settlement; undefined if it is not recorded. */
  readonly get: (transactionId: string) => Promise<Settlement | undefined> | Settlement | undefined
  /**
   * Ends a pending settlement. An ended settlement keeps its state, except that `failed` can become `settled`. The fee
   * of a failed settlement no longer counts. The fee counts again if the payment is settled after all. In a store with
   * leases, only the replica that has the lease can end a settlement as `failed`, because another one may find it on
   * the ledger.
   *
   * @returns the recorded settlement if this call has not ended it; the response must agree with it
   */
  readonly finish: (
    transactionId: string,
    outcome: SettlementOutcome,
  ) => Promise<Settlement | undefined> | Settlement | undefined
  /**
   * Like `finish` for a payment on the ledger, without waiting for the disk. Calls on this store see the result
   * immediately, other processes soon. A process that is killed before the result is recorded finds the payment on the
   * ledger again. Recording is retried until it succeeds or the store is closed. Implemented by stores where this is
   * faster.
   *
   * @param onError called the first time that recording fails
   */
  readonly settleSoon?:
    | ((transactionId: string, outcome: SettlementOutcome, onError: (error: unknown) => void) => void)
    | undefined
  /** Records whether nodes reject a pending settlement. A rejected settlement does not count for its `payTo`. */
  readonly setRejected: (transactionId: string, isRejected: boolean) => Promise<void> | void
  /** Returns the limit that a payment would exceed now, if any. Counts nothing and guarantees nothing. */
  readonly check: (
    payment: Pick<Settlement, 'payer' | 'payTo' | 'feeMicroAlgos'>,
    limits: SettlementLimits,
  ) => Promise<keyof SettlementLimits | undefined> | keyof SettlementLimits | undefined
  /**
   * All pending settlements, the oldest first. A store with leases returns those whose lease has ended, and takes them
   * over.
   */
  readonly pending: () => Promise<readonly Settlement[]> | readonly Settlement[]
  /** Deletes or archives older settlements that are not pending. */
  readonly forgetBefore: (createdMs: number) => Promise<void> | void
  /** Verified payments of all replicas. Only for stores that several machines share. */
  readonly holds?: SharedHolds | undefined
  /** Which replica works on which settlement. Only for stores that several machines share. */
  readonly leases?: SettlementLeases | undefined
  /** Throws if the store cannot be used now, for /health. */
  readonly ping?: (() => Promise<void>) | undefined
  /** The settings that replicas announce to each other. Only for stores that several machines share. */
  readonly settings?: SharedSettings | undefined
  /** The connections of this process to the database, for metrics. */
  readonly connections?: StoreConnections | undefined
  /**
   * Counts a request of a caller. Returns its number of requests in this minute over all replicas, including this one.
   */
  readonly countCaller?: ((name: string) => Promise<number>) | undefined
  /** Releases the resources of the store. */
  readonly close: () => Promise<void> | void
}

/** The oldest ended settlements are deleted first. A payment on the ledger is still found there. */
const maxSettlements = 100_000

/** Settlements in memory. After a restart, a pending payment is found only on the ledger. */
export class MemorySettlements implements SettlementStore {
  readonly #settlements = new Map<string, Settlement>()
  readonly #limits: MemoryLimits

  constructor() {
    // Looked up with every call, because tests replace the clock.
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
