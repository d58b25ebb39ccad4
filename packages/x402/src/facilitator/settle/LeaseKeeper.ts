/**
 * Tracks which settlements this replica works on if several share a store. Renews its leases, and takes over
 * settlements of replicas that died or stopped. A lease only saves work: two replicas that work on one settlement
 * submit the same bytes.
 */
import type { SettlementLeases } from '../store/Settlement.js'
import type { Settlement } from '../store/Settlements.js'

export type LeaseKeeperOptions = {
  readonly leases: SettlementLeases
  /** The ids of the settlements that this replica works on. */
  readonly working: () => readonly string[]
  /** How many more settlements this replica can work on. */
  readonly room: () => number
  /** Called with every settlement that was taken over. */
  readonly onTaken: (settlement: Settlement) => void
  readonly onError: (error: unknown) => void
}

/** How many settlements are taken over at a time. */
const maxBatch = 100

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions
  readonly #lost = new Set<string>()
  /** Settlements whose lease ended while this replica worked on them. Another replica may have had them in between. */
  readonly #retaken = new Set<string>()
  readonly #timer: ReturnType<typeof setInterval>
  #round: Promise<void> | undefined
  #takingOver: Promise<void> | undefined
  #isStopping = false

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#startRound(), options.leases.leaseMs / 3)
    // Node's timers keep the process running and need `unref`. Timers in browsers are numbers.
    if (typeof this.#timer === 'object') this.#timer.unref()
  }

  /** Whether another replica works on the settlement now. */
  isLost(transactionId: string): boolean {
    return this.#lost.has(transactionId)
  }

  /** Call this when the settlement is no longer worked on here. */
  forget(transactionId: string): void {
    this.#lost.delete(transactionId)
    this.#retaken.delete(transactionId)
  }

  /**
   * Whether no other replica can have worked on a settlement that this one recorded at `recordedMs`. The store is
   * queried if the lease may have ended.
   */
  async isOwn(transactionId: string, recordedMs: number): Promise<boolean> {
    if (this.#retaken.has(transactionId)) return false
    return performance.now() - recordedMs < this.#options.leases.leaseMs / 2 || (await this.has(transactionId))
  }

  /** Whether this replica has the lease of a settlement. Renews the lease. */
  async has(transactionId: string): Promise<boolean> {
    return (await this.#options.leases.renew([transactionId])).length === 0
  }

  /** Resolves with the settlement when it ends, its lease ends, or the time is up. */
  watch(transactionId: string, timeoutMs: number): Promise<Settlement | undefined> {
    return this.#options.leases.watch(transactionId, timeoutMs)
  }

  /** Takes over settlements that other replicas left. Concurrent calls share one run. */
  takeOver(): Promise<void> {
    this.#takingOver ??= this.#takeOver().finally(() => {
      this.#takingOver = undefined
    })
    return this.#takingOver
  }

  /** Starts with the given settlements, such as those found at startup. */
  take(settlements: readonly Settlement[]): void {
    const working = new Set(this.#options.working())
    for (const settlement of settlements) {
      this.#lost.delete(settlement.transactionId)
      if (working.has(settlement.transactionId)) this.#retaken.add(settlement.transactionId)
      this.#options.onTaken(settlement)
    }
  }

  /** Stops taking over settlements. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    await this.#round
    await Promise.allSettled([this.#takingOver])
  }

  /** Releases the leases, so that other replicas take over unfinished settlements immediately. */
  async release(): Promise<void> {
    await this.#reporting(() => this.#options.leases.release())
  }

  #startRound(): void {
    // Rounds do not overlap if the database is slow.
    this.#round ??= this.#runRound().finally(() => {
      this.#round = undefined
    })
  }

  async #runRound(): Promise<void> {
    await this.#reporting(() => this.#renew())
    await this.#reporting(() => this.takeOver())
  }

  async #renew(): Promise<void> {
    const ids = this.#options.working()
    if (ids.length === 0) return
    for (const transactionId of await this.#options.leases.renew(ids)) this.#lost.add(transactionId)
    // Settlements that ended meanwhile have no lease either.
    const working = new Set(this.#options.working())
    for (const transactionId of this.#lost) if (!working.has(transactionId)) this.#lost.delete(transactionId)
  }

  async #takeOver(): Promise<void> {
    while (!this.#isStopping) {
      const limit = Math.min(maxBatch, this.#options.room())
      if (limit <= 0) return
      const taken = await this.#options.leases.takeOver(limit)
      this.take(taken)
      if (taken.length < limit) return
    }
  }

  /** Nothing is lost without the database: the leases end, and other replicas or this one take over. */
  async #reporting(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#options.onError(error)
    }
  }
}
