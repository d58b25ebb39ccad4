/**
 * The settlements of a facilitator. Settlements are recorded before anything is submitted, by the id of the transaction
 * that pays, so that a payment is submitted once and every request for it gets the same result.
 */
import { decideSettlement, limitsOfSettlement } from './holdDecisions.js'
import type { ListingStore } from './Listings.js'
import { MemoryHolds } from './MemoryHolds.js'
import type {
  HoldStore,
  Settlement,
  SettlementClaim,
  SettlementLeases,
  SettlementLimits,
  SettlementOutcome,
  SharedSettings,
} from './Settlement.js'

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
   * Records a settlement durably if its id is new, the payment is not held for another claimant and the limits allow
   * it, and counts it. {@link decideSettlement} is the decision, with {@link limitsOfSettlement} of its hold. Of
   * concurrent calls exactly one records it.
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
  /** Verified payments of all replicas, and whom they belong to. */
  readonly holds: HoldStore
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
  /**
   * The catalogue of the facilitator. Read only if the facilitator has one.
   *
   * @default in memory
   */
  readonly listings?: ListingStore | undefined
  /** Releases the resources of the store. */
  readonly close: () => Promise<void> | void
}

/** The oldest ended settlements are deleted first. A payment on the ledger is still found there. */
const maxSettlements = 100_000

/** Settlements in memory. After a restart, a pending payment is found only on the ledger. */
export class MemorySettlements implements SettlementStore {
  readonly holds: HoldStore
  readonly #holds: MemoryHolds
  readonly #settlements = new Map<string, Settlement>()
  readonly #limits: MemoryLimits

  constructor() {
    // Looked up with every call, because tests replace the clock.
    const nowMs = () => Date.now()
    this.holds = this.#holds = new MemoryHolds({
      get: (transactionId) => this.get(transactionId),
      check: (payment, limits) => this.check(payment, limits),
      countRates: (payment, limits) => this.#limits.countRates(payment, limits),
      forgetUncharged: (network, round) => this.#forgetUncharged(network, round),
      nowMs,
    })
    this.#limits = new MemoryLimits(nowMs, (payTo) => this.#holds.reservedFees(payTo))
  }

  claim(settlement: Settlement, limits: SettlementLimits): SettlementClaim {
    const { transactionId, claimant } = settlement
    const known = this.#settlements.get(transactionId)
    const admission = this.#holds.admission(transactionId)
    const decision = decideSettlement({
      isRecorded: known !== undefined,
      heldFor: this.#holds.claimantOf(transactionId),
      claimant,
      limit: this.#limits.check(settlement, limitsOfSettlement(limits, admission)),
    })
    if (decision.type === 'known') return { type: 'known', settlement: known! }
    if (decision.type !== 'recorded') return decision
    this.#settlements.set(transactionId, settlement)
    this.#holds.end(transactionId)
    if (!admission?.isPaidAfterwards) this.#limits.countRates(settlement, limits)
    this.#limits.count(settlement)
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

  #forgetUncharged(network: string, round: bigint): void {
    for (const [transactionId, one] of this.#settlements) {
      const isUncharged = one.amount === '0' && one.state === 'settled'
      if (isUncharged && one.network === network && one.lastValid < round) this.#delete(transactionId)
    }
  }

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

type Counted = Pick<Settlement, 'payer' | 'payTo' | 'feeMicroAlgos'>

/** A settlement that is pending, or that failed and may still be on the ledger. */
type Entry = {
  /** The part of the day that the fee counts in. */
  readonly feePart: number
  isRejected: boolean
}

/**
 * The number of sellers for whom fees were paid in one day. None is evicted, because that would reset its limit.
 * Further sellers are refused. Each has cost at least one fee, so a stranger cannot fill the table for free.
 */
const maxSellers = 100_000
const allSellers = ''

/** The counts for the limits of one process, which are lost with it. */
class MemoryLimits {
  readonly #fees: RollingSums
  readonly #payerRates: RollingSums
  readonly #payToRates: RollingSums
  /** Settlements that have not ended. */
  readonly #pending = { payer: new Map<string, number>(), payTo: new Map<string, number>() }
  /** Keyed by transaction id. */
  readonly #entries = new Map<string, Entry>()
  readonly #reservedFees: (payTo: string | undefined) => bigint

  /** @param reservedFees the fees of held payments, for one seller or in total */
  constructor(nowMs: () => number, reservedFees: (payTo: string | undefined) => bigint) {
    this.#reservedFees = reservedFees
    this.#fees = new RollingSums(feePeriod, nowMs)
    this.#payerRates = new RollingSums(ratePeriod, nowMs)
    this.#payToRates = new RollingSums(ratePeriod, nowMs)
  }

  check({ payer, payTo, feeMicroAlgos }: Counted, limits: SettlementLimits): keyof SettlementLimits | undefined {
    const { payerPerMinute, payToPerMinute, pendingPerPayer, pendingPerPayTo } = limits
    const feeLimit = feeMicroAlgos > 0n ? this.#checkFees(payTo, feeMicroAlgos, limits) : undefined
    if (feeLimit !== undefined) return feeLimit
    if (payerPerMinute !== undefined && this.#payerRates.get(payer) >= payerPerMinute) return 'payerPerMinute'
    if (payToPerMinute !== undefined && this.#payToRates.get(payTo) >= payToPerMinute) return 'payToPerMinute'
    const { payer: byPayer, payTo: byPayTo } = this.#pending
    if (pendingPerPayer !== undefined && (byPayer.get(payer) ?? 0) >= pendingPerPayer) return 'pendingPerPayer'
    if (pendingPerPayTo !== undefined && (byPayTo.get(payTo) ?? 0) >= pendingPerPayTo) return 'pendingPerPayTo'
    return undefined
  }

  #checkFees(payTo: string, fee: bigint, { feesInAll, feesPerPayTo }: SettlementLimits) {
    const inAll = (): bigint => this.#fees.get(allSellers) + this.#reservedFees(undefined)
    if (feesInAll !== undefined && inAll() + fee > feesInAll) return 'feesInAll'
    if (feesPerPayTo === undefined) return undefined
    const spent = this.#fees.get(payTo)
    if (spent + this.#reservedFees(payTo) + fee > feesPerPayTo) return 'feesPerPayTo'
    return spent === 0n && this.#fees.size > maxSellers ? 'feesInAll' : undefined
  }

  /** Counts a payment in the current minute, where there is a limit. */
  countRates({ payer, payTo }: Counted, { payerPerMinute, payToPerMinute }: SettlementLimits): void {
    if (payerPerMinute !== undefined) this.#payerRates.add(payer, 1n)
    if (payToPerMinute !== undefined) this.#payToRates.add(payTo, 1n)
  }

  /** Counts a settlement that is being recorded. */
  count({ transactionId, payer, payTo, feeMicroAlgos }: Settlement): void {
    add(this.#pending.payer, payer, 1)
    add(this.#pending.payTo, payTo, 1)
    let feePart = 0
    if (feeMicroAlgos > 0n) {
      feePart = this.#fees.add(payTo, feeMicroAlgos)
      this.#fees.add(allSellers, feeMicroAlgos)
    }
    this.#entries.set(transactionId, { feePart, isRejected: false })
  }

  /** Records whether nodes reject a pending settlement. */
  setRejected({ transactionId, payTo }: Settlement, isRejected: boolean): void {
    const entry = this.#entries.get(transactionId)
    if (entry === undefined || entry.isRejected === isRejected) return
    entry.isRejected = isRejected
    add(this.#pending.payTo, payTo, isRejected ? -1 : 1)
  }

  /**
   * Ends a settlement. The fee of a failed settlement no longer counts. The fee counts again if the payment is found on
   * the ledger.
   */
  end(before: Settlement, state: 'settled' | 'failed'): void {
    const { transactionId, payer, payTo, feeMicroAlgos } = before
    const { feePart } = this.#entries.get(transactionId)!
    if (before.state === 'pending') {
      this.setRejected(before, false)
      add(this.#pending.payer, payer, -1)
      add(this.#pending.payTo, payTo, -1)
    }
    if (state === 'failed' || before.state === 'failed') {
      const change = state === 'failed' ? -feeMicroAlgos : feeMicroAlgos
      for (const key of [payTo, allSellers]) this.#fees.change(key, feePart, change)
    }
    if (state === 'settled') this.#entries.delete(transactionId)
  }

  /** Deletes an ended settlement. */
  forget(transactionId: string): void {
    this.#entries.delete(transactionId)
  }
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

/** Fees count for a day, in parts of a quarter of an hour. */
export const feePeriod = { periodMs: 24 * 60 * 60 * 1000, partMs: 15 * 60 * 1000 } as const
/** Settlements count for a minute, in parts of a second. */
export const ratePeriod = { periodMs: 60_000, partMs: 1_000 } as const

export type RollingPeriod = {
  readonly periodMs: number
  /** The length of a part. All amounts of a part count until the whole part is older than the period. */
  readonly partMs: number
}

/** The first millisecond of the part that contains a time. */
export function partOf(ms: number, { partMs }: RollingPeriod): number {
  return ms - (ms % partMs)
}

/** Parts that start at or before this time no longer count. */
export function lastEnded(nowMs: number, { periodMs, partMs }: RollingPeriod): number {
  return nowMs - periodMs - partMs
}

class RollingSum {
  readonly #parts = new Map<number, bigint>()
  sum = 0n

  add(fromMs: number, amount: bigint): void {
    this.#parts.set(fromMs, (this.#parts.get(fromMs) ?? 0n) + amount)
    this.sum += amount
  }

  removeUntil(lastMs: number): void {
    // Ordered by time, unless the clock was set back; a part then counts for longer.
    for (const [fromMs, amount] of this.#parts) {
      if (fromMs > lastMs) return
      this.sum -= amount
      this.#parts.delete(fromMs)
    }
  }
}

/** Sums by key over the last minute or day, in parts, for the settlements of one process. */
class RollingSums {
  readonly #period: RollingPeriod
  readonly #nowMs: () => number
  readonly #sums = new Map<string, RollingSum>()
  #sweptMs: number

  constructor(period: RollingPeriod, nowMs: () => number) {
    this.#period = period
    this.#nowMs = nowMs
    this.#sweptMs = nowMs()
  }

  /** The number of keys. Each was added to in the last two periods. */
  get size(): number {
    return this.#sums.size
  }

  get(key: string): bigint {
    const sum = this.#sums.get(key)
    sum?.removeUntil(lastEnded(this.#nowMs(), this.#period))
    return sum?.sum ?? 0n
  }

  /** Returns the part that the amount counts in, for {@link change}. */
  add(key: string, amount: bigint): number {
    const now = this.#nowMs()
    this.#sweep(now)
    const fromMs = partOf(now, this.#period)
    this.#add(key, fromMs, amount)
    return fromMs
  }

  /** Changes the sum of an earlier part. A part that no longer counts is ignored. */
  change(key: string, fromMs: number, amount: bigint): void {
    if (fromMs > lastEnded(this.#nowMs(), this.#period)) this.#add(key, fromMs, amount)
  }

  #add(key: string, fromMs: number, amount: bigint): void {
    const sum = this.#sums.get(key) ?? new RollingSum()
    this.#sums.set(key, sum)
    sum.add(fromMs, amount)
  }

  #sweep(now: number): void {
    if (now >= this.#sweptMs && now - this.#sweptMs < this.#period.periodMs) return
    this.#sweptMs = now
    for (const key of [...this.#sums.keys()]) if (this.get(key) === 0n) this.#sums.delete(key)
  }
}
