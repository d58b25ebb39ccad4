/**
 * Submits recorded settlements and determines how they end. Every settlement has one task in this process, for any
 * number of waiting callers. A result is final only if the ledger, or the last valid round, has decided.
 */
import { AlgodError } from '@latchkey/algod'
import * as Tracing from '@latchkey/algod/tracing'
import type { PaymentRequirements, SettleResponse } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import type { ErrorListener } from '../FacilitatorOptions.js'
import type { Metrics } from '../health/Metrics.js'
import { isTemporary, limitError } from '../limits/PaymentHolds.js'
import { alreadyClaimed } from '../limits/Reservations.js'
import { PaymentError } from '../PaymentError.js'
import type { SettlementClaim, SettlementLeases, SettlementLimits } from '../store/Settlement.js'
import type { Settlement, SettlementOutcome, SettlementStore } from '../store/Settlements.js'
import { LeaseKeeper } from './LeaseKeeper.js'
import {
  isUptoSettlement,
  ledgerIdOf,
  type Network,
  networkOf,
  type Progress,
  progressOf,
  searchBlocks,
  step,
  Turns,
  Waits,
  waitFor,
  watchBlocks,
} from './settlementStep.js'

type SettlerOptions = {
  store: SettlementStore
  chains: readonly Chain[]
  metrics: Metrics
  settleTimeoutMs: number
  pollMs: number
  keepMs: number
  /** The limits on the settlements of all replicas together. */
  limits: SettlementLimits
  onError: ErrorListener
  /** Called once with every settlement that ends, including those of an earlier process. */
  onEnd: (settlement: Settlement) => void
  /** Called with every settlement taken over from another or an earlier process. */
  onTaken: (settlement: Settlement) => void
  /** Called with every unfinished settlement that this process no longer works on, because another one does. */
  onLeft: (settlement: Settlement) => void
  /**
   * Called when nodes begin to reject a payment that they may have accepted before, and when they stop rejecting it.
   */
  onRejected: (settlement: Settlement, isRejected: boolean) => void
}

/** The longest wait between two lookups of a payment. */
const maxPollMs = 5_000
/** The wait if nodes reject the payment and no caller waits, because it will most likely expire. */
const rejectedPollMs = 30_000
/** The wait if no node has the blocks anymore, until the operator adds one that does. */
const searchPollMs = 60_000
const deleteEveryMs = 60 * 60 * 1000
/**
 * Each task takes memory and an occasional lookup. More are allowed for payments that nodes reject, because strangers
 * can cause them.
 */
const maxTasks = 10_000
const maxTasksWithRejected = 4 * maxTasks
/** How many charges of a payer are tried again after a node has rejected them. Strangers can cause them. */
const maxRejectedCharges = 16
/** After this time a settlement runs in the background, because no caller waits for it anymore. */
const foregroundMs = 30_000
/** The longest wait between two attempts of a payment that waits for room. */
const maxRoomPollMs = 2_000
/**
 * How many settlements are looked up concurrently after their first submission, so that many pending ones do not slow
 * others down.
 */
const maxLookups = 8

export type BeginOptions = {
  /** Whether to wait if there is no room, because the seller may already have done the work. */
  readonly isPatient?: boolean
}

export type BegunSettlement = {
  readonly settlement: Settlement
  /** Whether this call recorded the settlement. */
  readonly isNew: boolean
}

export class Settler {
  readonly #options: SettlerOptions
  readonly #networks: ReadonlyMap<string, Network>
  readonly #tasks = new Map<string, Promise<Settlement>>()
  readonly #turns = new Turns(maxLookups)
  /** Undefined if the store has no leases. Every process then works on the settlements it is asked for. */
  readonly #keeper: LeaseKeeper | undefined
  /** The payers of settlements that nodes reject, by transaction id. */
  readonly #rejected = new Map<string, string>()
  readonly #claiming = new Set<Promise<SettlementClaim>>()
  readonly #waits = new Waits()
  readonly #deletion: ReturnType<typeof setInterval>
  #stopped: Promise<void> | undefined

  constructor(options: SettlerOptions) {
    this.#options = options
    this.#networks = new Map(options.chains.map(({ caip2, algod }) => [caip2, networkOf(algod, options.pollMs)]))
    this.#keeper = options.store.leases && this.#keeperOf(options.store.leases)
    this.#deletion = setInterval(() => void this.#deleteOld(), deleteEveryMs)
    // Node's timers keep the process running and need `unref`. Timers in browsers are numbers.
    if (typeof this.#deletion === 'object') this.#deletion.unref()
  }

  #keeperOf(leases: SettlementLeases): LeaseKeeper {
    return new LeaseKeeper({
      leases,
      working: () => [...this.#tasks.keys()],
      room: () => (this.#waits.isStopped ? 0 : maxTasks - this.#tasks.size),
      onTaken: (settlement) => this.#take(settlement),
      onError: this.#options.onError,
    })
  }

  find(transactionId: string): Promise<Settlement | undefined> | Settlement | undefined {
    return this.#options.store.get(transactionId)
  }

  /**
   * Checks that this process can take another settlement.
   *
   * @throws PaymentError
   */
  checkRoom(): void {
    if (this.#waits.isStopped) throw busy('the facilitator is shutting down; retry')
    if (!this.#hasTasks()) throw busy('too many settlements are in progress')
  }

  #hasTasks(): boolean {
    return this.#tasks.size - this.#rejected.size < maxTasks && this.#tasks.size < maxTasksWithRejected
  }

  /**
   * Records a settlement and submits it. If another call recorded it, waits for that one.
   *
   * @throws PaymentError
   */
  async begin(settlement: Settlement, { isPatient = false }: BeginOptions = {}): Promise<BegunSettlement> {
    const startedMs = performance.now()
    const claim = await this.#claimPatiently(settlement, isPatient)
    if (claim.type === 'known') return { settlement: await this.wait(claim.settlement, startedMs), isNew: false }
    void this.#runTask(settlement, { recordedMs: claim.startedMs })
    const end = Tracing.span('facilitator.confirm', {}, () => this.wait(settlement, startedMs))
    return { settlement: await end, isNew: true }
  }

  /** Uses only half of the caller's time, because the settlement must also be confirmed. */
  async #claimPatiently(settlement: Settlement, isPatient: boolean): Promise<MadeClaim> {
    const { settleTimeoutMs, pollMs, limits } = this.#options
    const roomUntilMs = performance.now() + (isPatient ? settleTimeoutMs / 2 : 0)
    for (let waitMs = pollMs; ; waitMs = Math.min(waitMs * 1.5, maxRoomPollMs)) {
      const isLast = this.#waits.isStopped || performance.now() >= roomUntilMs
      if (isLast) this.checkRoom()
      if (this.#hasTasks()) {
        const startedMs = performance.now()
        const claim = await this.#claim(settlement)
        if (claim.type === 'claimed') throw alreadyClaimed()
        if (claim.type !== 'limited') return { ...claim, startedMs }
        const { limit } = claim
        if (isLast || !isTemporary(limit))
          throw limitError(limit, { payment: settlement, limits, isVerified: isPatient })
      }
      await this.#waits.sleep(waitMs)
    }
  }

  /**
   * Returns how the settlement ended, or its state when the time limit is reached. A charge that nodes reject stays open
   * until it expires: its seller is not kept waiting, and looks up meanwhile whether the payer is at fault.
   */
  async wait(settlement: Settlement, startedMs = performance.now()): Promise<Settlement> {
    const { settleTimeoutMs, pollMs } = this.#options
    const deadlineMs = startedMs + settleTimeoutMs
    const isCharge = isUptoSettlement(settlement)
    let latest = settlement
    while (latest.state === 'pending' && !this.#waits.isStopped) {
      const leftMs = deadlineMs - performance.now()
      if (leftMs <= 0) break
      const task = this.#tasks.get(latest.transactionId) ?? this.#taskOf(latest)
      if (task !== undefined) latest = await waitFor(task, latest, isCharge ? Math.min(leftMs, pollMs) : leftMs)
      else if (this.#keeper !== undefined) latest = await this.#watch(this.#keeper, latest, leftMs)
      else break
      if (isCharge && this.#rejected.has(latest.transactionId)) break
    }
    return latest
  }

  /** Undefined if another replica works on the settlement, or this process does not serve its network. */
  #taskOf(settlement: Settlement): Promise<Settlement> | undefined {
    const isServed = this.#networks.has(settlement.network)
    return this.#keeper === undefined && isServed ? this.#runTask(settlement, {}) : undefined
  }

  /** Waits for another replica. If that replica stopped, this one may take over. */
  async #watch(keeper: LeaseKeeper, settlement: Settlement, leftMs: number): Promise<Settlement> {
    const { onError, pollMs } = this.#options
    const { transactionId } = settlement
    let latest: Settlement | undefined
    try {
      latest = await this.#waits.for(keeper.watch(transactionId, leftMs), undefined, leftMs)
      if (latest !== undefined && latest.state !== 'pending') return this.#ended(latest)
      if (!this.#waits.isStopped) await keeper.takeOver()
    } catch (error) {
      // The settlement is recorded, so it stays pending despite an error of the store.
      onError(error)
    }
    if (!this.#tasks.has(transactionId)) await this.#waits.sleep(Math.min(pollMs, leftMs))
    return latest ?? settlement
  }

  /** Continues the settlements of an earlier process, in the background. */
  async resume(): Promise<readonly Settlement[]> {
    await this.#deleteOld()
    const pending = await this.#options.store.pending()
    if (this.#keeper !== undefined) this.#keeper.take(pending)
    else for (const settlement of pending) this.#take(settlement)
    return pending
  }

  #take(settlement: Settlement): void {
    this.#options.onTaken(settlement)
    void this.#runTask(settlement, { isInBackground: true })
  }

  /** Pending settlements stay recorded, for the next process. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    clearInterval(this.#deletion)
    this.#waits.stop()
    await this.#keeper?.stop()
    await Promise.allSettled(this.#claiming)
    await Promise.all(this.#tasks.values())
    await this.#keeper?.release()
    await this.#options.store.close()
  }

  async #claim(settlement: Settlement): Promise<SettlementClaim> {
    const { store, limits } = this.#options
    const record = async (): Promise<SettlementClaim> => store.claim(settlement, limits)
    const recording = Tracing.span('facilitator.record', {}, record)
    const claiming = recording.catch((error) => this.#findClaim(settlement, error))
    this.#claiming.add(claiming)
    try {
      return await claiming
    } finally {
      this.#claiming.delete(claiming)
    }
  }

  /**
   * The store failed, but may still have recorded the settlement. If the record is under a lease of this replica, work
   * continues here. A record that appears after this lookup is found when its lease ends.
   *
   * @throws the store's error if it has no record or cannot tell; nothing is submitted then
   */
  async #findClaim(settlement: Settlement, error: unknown): Promise<SettlementClaim> {
    const { store, onError } = this.#options
    const known = await (async () => store.get(settlement.transactionId))().catch(onError)
    if (known === undefined) throw error
    onError(error)
    const isOurs = known.state === 'pending' && (await this.#keeper?.has(known.transactionId).catch(onError))
    if (isOurs) void this.#runTask(known, {})
    return { type: 'known', settlement: known }
  }

  async #deleteOld(): Promise<void> {
    try {
      await this.#options.store.forgetBefore(Date.now() - this.#options.keepMs)
    } catch (error) {
      this.#options.onError(error)
    }
  }

  /**
   * Also recorded in the store: a rejected settlement does not count against its `payTo`, and the next process must
   * know that.
   */
  async #setRejected(settlement: Settlement, isRejected: boolean): Promise<void> {
    const { transactionId } = settlement
    await this.#options.store.setRejected(transactionId, isRejected)
    if (isRejected) this.#rejected.set(transactionId, settlement.payer)
    else this.#rejected.delete(transactionId)
    this.#options.onRejected(settlement, isRejected)
  }

  /** Never rejects: errors are reported, and the lookup is repeated. */
  #runTask(settlement: Settlement, how: TaskOptions): Promise<Settlement> {
    const { transactionId } = settlement
    let task = this.#tasks.get(transactionId)
    if (task === undefined) {
      task = this.#settle(settlement, how).finally(() => {
        this.#rejected.delete(transactionId)
        this.#tasks.delete(transactionId)
        this.#keeper?.forget(transactionId)
        this.#options.metrics.set('pending', this.#tasks.size)
      })
      this.#tasks.set(transactionId, task)
      this.#options.metrics.set('pending', this.#tasks.size)
    }
    return task
  }

  async #settle(settlement: Settlement, { recordedMs, isInBackground = false }: TaskOptions): Promise<Settlement> {
    const network = this.#networks.get(settlement.network)
    if (network === undefined) return this.#left(settlement)
    if (settlement.group.length === 0) return this.#settleNothing(settlement)
    const isNew = recordedMs !== undefined
    const startedMs = performance.now()
    const progress = progressOf({ isNew })
    // For a settlement left by another process, the recorded flag is not known.
    let isRejected = isNew ? false : undefined
    for (let pollMs = this.#options.pollMs; this.#isWorking(settlement, progress); ) {
      try {
        const isUrgent = !isInBackground && performance.now() - startedMs < foregroundMs
        const work = (): Promise<Settlement | undefined> => this.#takeStep(settlement, network, progress)
        // A block that was read may have decided the outcome.
        const isOpen = progress.outcome === undefined
        const end = isOpen ? await (progress.mayBeSent ? this.#turns.run(isUrgent, work) : work()) : undefined
        if (end !== undefined) return end
        if (progress.search !== undefined) await searchBlocks(settlement, network, progress)
        if (progress.isRefused && !(await this.#isRefusalFinal(settlement, recordedMs!))) {
          Object.assign(progress, { outcome: undefined, isRefused: false, isRejected: true })
        }
        if (progress.outcome !== undefined) return await this.#finish(settlement, progress.outcome)
        if (isRejected !== progress.isRejected) await this.#setRejected(settlement, progress.isRejected)
        isRejected = progress.isRejected
      } catch (error) {
        // /health reports nodes that do not respond.
        if (!(error instanceof AlgodError)) this.#options.onError(error, { transactionId: settlement.transactionId })
      }
      const isSlow = progress.isRejected && performance.now() - startedMs > foregroundMs
      if (progress.isPending && progress.outcome === undefined && network.watch.isAvailable) {
        await this.#waits.sleep(maxPollMs, (wakeUp) => watchBlocks(settlement, network, progress, wakeUp))
        continue
      }
      await this.#waits.sleep(progress.search !== undefined ? searchPollMs : isSlow ? rejectedPollMs : pollMs)
      pollMs = Math.min(pollMs * 1.5, maxPollMs)
    }
    return this.#left(settlement)
  }

  /** Ends a settlement of amount 0: there is nothing to submit. The record excludes every other amount. */
  async #settleNothing(settlement: Settlement): Promise<Settlement> {
    while (!this.#waits.isStopped) {
      try {
        return await this.#finish(settlement, { state: 'settled' })
      } catch (error) {
        this.#options.onError(error, { transactionId: settlement.transactionId })
      }
      await this.#waits.sleep(maxPollMs)
    }
    return this.#left(settlement)
  }

  /** Returns the outcome in the store, which callers of other replicas get too. */
  async #finish(settlement: Settlement, outcome: SettlementOutcome): Promise<Settlement> {
    const recorded = await this.#record(settlement.transactionId, outcome)
    // This replica found the payment refused or expired, but the replica that has the lease now may find it on the
    // ledger.
    if (recorded?.state === 'pending') return this.#left(settlement)
    return this.#ended(recorded ?? { ...settlement, ...outcome })
  }

  /**
   * Settled payments may be persisted lazily, because the ledger is the source of truth. A failure must be persisted
   * before it is reported.
   */
  async #record(transactionId: string, outcome: SettlementOutcome): Promise<Settlement | undefined> {
    const { store, onError } = this.#options
    if (outcome.state === 'settled' && store.settleSoon !== undefined) {
      store.settleSoon(transactionId, outcome, (error) => onError(error, { transactionId }))
      return undefined
    }
    return store.finish(transactionId, outcome)
  }

  /**
   * A charge is for work that was done, so it is tried again until it expires: the payer may have moved its money away in
   * a transaction that waits for a block, and move it back in the same block. Otherwise the refusal is final, unless
   * another replica may have sent the payment to a node that accepted it while this one waited.
   */
  async #isRefusalFinal(settlement: Settlement, recordedMs: number): Promise<boolean> {
    const { transactionId, payer } = settlement
    if (isUptoSettlement(settlement) && this.#countRejected(payer) < maxRejectedCharges) {
      this.#rejected.set(transactionId, payer)
      return false
    }
    return this.#keeper === undefined || (await this.#keeper.isOwn(transactionId, recordedMs))
  }

  #countRejected(payer: string): number {
    let count = 0
    for (const one of this.#rejected.values()) if (one === payer) count++
    return count
  }

  /** True until this process stops or another replica works on the settlement. A decided outcome is always recorded. */
  #isWorking({ transactionId }: Settlement, { outcome }: Progress): boolean {
    const isLost = outcome === undefined && this.#keeper?.isLost(transactionId)
    return !this.#waits.isStopped && !isLost
  }

  /** Returns the settlement if another process has ended it. With leases, this cannot happen. */
  async #takeStep(settlement: Settlement, network: Network, progress: Progress): Promise<Settlement | undefined> {
    if (this.#waits.isStopped || progress.outcome !== undefined) return undefined
    const isShared = progress.mayBeSent && this.#keeper === undefined
    const stored = isShared ? await this.#options.store.get(settlement.transactionId) : undefined
    if (stored !== undefined && stored.state !== 'pending') return this.#ended(stored)
    await step(settlement, network, progress)
    return undefined
  }

  #left(settlement: Settlement): Settlement {
    if (!this.#waits.isStopped) this.#options.onLeft(settlement)
    return settlement
  }

  #ended(settlement: Settlement): Settlement {
    this.#options.onEnd(settlement)
    return settlement
  }
}

type MadeClaim = Exclude<SettlementClaim, { readonly type: 'limited' | 'claimed' }> & {
  /** Measured before the claim is sent to the store, so that the lease cannot have begun earlier. */
  readonly startedMs: number
}

type TaskOptions = {
  /** When the settlement was recorded, if no node can have seen it. */
  readonly recordedMs?: number
  /** Whether no caller waits for the settlement. */
  readonly isInBackground?: boolean
}

function busy(message: string): PaymentError {
  return new PaymentError('facilitator_busy', message)
}

/** The response to a seller about a settlement. */
export function responseOf(settlement: Settlement, network: PaymentRequirements['network']): SettleResponse {
  const { payer, amount, state, round, errorReason, errorMessage } = settlement
  const transaction = ledgerIdOf(settlement)
  if (state === 'settled') {
    const extra = round === undefined ? {} : { extra: { round: Number(round) } }
    return { success: true, transaction, network, payer, amount, ...extra }
  }
  if (state === 'failed') {
    return { success: false, transaction, network, payer, errorReason: errorReason!, errorMessage: errorMessage! }
  }
  const message =
    'the payment was submitted and is not confirmed yet; send the same payment again: it is not charged twice'
  return { success: false, transaction, network, payer, errorReason: 'settlement_pending', errorMessage: message }
}
