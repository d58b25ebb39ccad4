/**
 * Which settlements this replica works on, where several share a store: it renews its leases, and takes over what replicas
 * have left that died or stopped. A lease only saves work: two replicas that work on one settlement submit the same bytes.
 */
import type { SettlementLeases } from '../store/SettlementLeases.js'
import type { Settlement } from '../store/Settlements.js'

export type LeaseKeeperOptions = {
  readonly leases: SettlementLeases
  /** The ids of the settlements that this replica works on. */
  readonly working: () => readonly string[]
  /** How many more it can work on. */
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
  /** Those whose lease ended while this replica worked on them: another one may have had them in between. */
  readonly #retaken = new Set<string>()
  readonly #timer: ReturnType<typeof setInterval>
  #round: Promise<void> | undefined
  #takingOver: Promise<void> | undefined
  #isStopping = false

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#startRound(), options.leases.leaseMs / 3)
    // Timers of Node keep the process running; those of browsers are numbers.
    if (typeof this.#timer === 'object') this.#timer.unref()
  }

  /** Whether another replica works on it now. */
  isLost(transactionId: string): boolean {
    return this.#lost.has(transactionId)
  }

  /** It is not worked on here any more. */
  forget(transactionId: string): void {
    this.#lost.delete(transactionId)
    this.#retaken.delete(transactionId)
  }

  /**
   * Whether no other replica can have worked on a settlement that this one recorded at that time: asked of the store once
   * the lease may have ended.
   */
  async isOwn(transactionId: string, recordedMs: number): Promise<boolean> {
    if (this.#retaken.has(transactionId)) return false
    return performance.now() - recordedMs < this.#options.leases.leaseMs / 2 || (await this.has(transactionId))
  }

  /** Whether this replica has the lease of a settlement, which is longer from now on. */
  async has(transactionId: string): Promise<boolean> {
    return (await this.#options.leases.renew([transactionId])).length === 0
  }

  /** The settlement when it has ended, its lease has, or the time is up. */
  watch(transactionId: string, timeoutMs: number): Promise<Settlement | undefined> {
    return this.#options.leases.watch(transactionId, timeoutMs)
  }

  /** Works on what others have left. Concurrent calls share one. */
  takeOver(): Promise<void> {
    this.#takingOver ??= this.#takeOver().finally(() => {
      this.#takingOver = undefined
    })
    return this.#takingOver
  }

  /** Begins with what this replica found when it started. */
  take(settlements: readonly Settlement[]): void {
    const working = new Set(this.#options.working())
    for (const settlement of settlements) {
      this.#lost.delete(settlement.transactionId)
      if (working.has(settlement.transactionId)) this.#retaken.add(settlement.transactionId)
      this.#options.onTaken(settlement)
    }
  }

  /** Takes over nothing more. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    await this.#round
    await Promise.allSettled([this.#takingOver])
  }

  /** Others take over at once what this replica has not ended. */
  async release(): Promise<void> {
    await this.#reporting(() => this.#options.leases.release())
  }

  #startRound(): void {
    // One that waits for the database is not joined by another.
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
    // Those that ended meanwhile have no lease either.
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

  /** Without the database nothing is lost: the leases end, and other replicas, or this one, take over. */
  async #reporting(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#options.onError(error)
    }
  }
}
