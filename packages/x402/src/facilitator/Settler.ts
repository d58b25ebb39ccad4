/**
 * Submits recorded settlements and finds out how they end. Every settlement has one task in this process, however many
 * callers wait for it; a result is final only if the ledger, or the last valid round, has decided.
 */
import { type Algod, AlgodError } from '@latchkey/algod'
import type { Chain } from '../chain/Chain.js'
import type { Settlement, SettlementOutcome, SettlementStore } from '../store/Settlements.js'
import type { Metrics } from './Metrics.js'
import { PaymentError } from './PaymentError.js'

export type SettlerOptions = {
  store: SettlementStore
  chains: readonly Chain[]
  metrics: Metrics
  settleTimeoutMs: number
  pollMs: number
  keepMs: number
  onError: (error: unknown) => void
}

/** The longest wait between two lookups of a payment. */
const maxPollMs = 5_000
/** The wait where no node has the blocks any more: the operator has to add one that does. */
const searchPollMs = 60_000
const deleteEveryMs = 60 * 60 * 1000
/** Each takes memory and a lookup now and then. */
const maxTasks = 10_000
/** A node this many rounds past a transaction's last valid round has seen it if it was ever confirmed. */
const settledRounds = 2n
/** How many rounds back nodes find a transaction by its id; for older ones the blocks are searched. */
const lookupRounds = 1_000n

export type BegunSettlement = {
  readonly settlement: Settlement
  /** Whether this call recorded it. */
  readonly isNew: boolean
}

export class Settler {
  readonly #options: SettlerOptions
  readonly #tasks = new Map<string, Promise<Settlement>>()
  readonly #claiming = new Set<Promise<boolean>>()
  /** Each ends a wait. Not an AbortSignal: Workers do not let a request use one that another request created. */
  readonly #wakeUps = new Set<() => void>()
  readonly #deletion: ReturnType<typeof setInterval>
  #isStopping = false
  #stopped: Promise<void> | undefined

  constructor(options: SettlerOptions) {
    this.#options = options
    this.#deletion = setInterval(() => void this.#deleteOld(), deleteEveryMs)
    // Timers of Node keep the process running; those of browsers are numbers.
    if (typeof this.#deletion === 'object') this.#deletion.unref()
  }

  find(transactionId: string): Promise<Settlement | undefined> | Settlement | undefined {
    return this.#options.store.get(transactionId)
  }

  /**
   * Records a settlement and submits it; or waits for the one that another call recorded.
   *
   * @throws PaymentError
   */
  async begin(settlement: Settlement): Promise<BegunSettlement> {
    if (this.#isStopping) throw new PaymentError('facilitator_busy', 'the facilitator is stopping; retry')
    if (this.#tasks.size >= maxTasks) throw new PaymentError('facilitator_busy', 'too many settlements are in progress')
    const isNew = await this.#claim(settlement)
    if (isNew) {
      return { settlement: await this.#waitFor(this.#runTask(settlement, { isNew: true }), settlement), isNew }
    }
    const known = await this.#options.store.get(settlement.transactionId)
    return { settlement: await this.wait(known ?? settlement), isNew }
  }

  /** How the settlement ended, or its state when the time limit is reached. */
  async wait(settlement: Settlement): Promise<Settlement> {
    if (settlement.state !== 'pending') return settlement
    return this.#waitFor(this.#runTask(settlement, { isNew: false }), settlement)
  }

  async resume(): Promise<number> {
    await this.#deleteOld()
    const pending = await this.#options.store.pending()
    for (const settlement of pending) void this.#runTask(settlement, { isNew: false })
    return pending.length
  }

  /** Pending settlements stay recorded, for the next process. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    clearInterval(this.#deletion)
    this.#isStopping = true
    for (const wakeUp of this.#wakeUps) wakeUp()
    await Promise.allSettled(this.#claiming)
    await Promise.all(this.#tasks.values())
    await this.#options.store.close()
  }

  async #claim(settlement: Settlement): Promise<boolean> {
    const claiming = (async () => this.#options.store.claim(settlement))()
    this.#claiming.add(claiming)
    try {
      return await claiming
    } finally {
      this.#claiming.delete(claiming)
    }
  }

  async #deleteOld(): Promise<void> {
    try {
      await this.#options.store.forgetBefore(Date.now() - this.#options.keepMs)
    } catch (error) {
      this.#options.onError(error)
    }
  }

  async #waitFor(end: Promise<Settlement>, settlement: Settlement): Promise<Settlement> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const timeUp = new Promise<Settlement>((resolve) => {
      timer = setTimeout(resolve, this.#options.settleTimeoutMs, settlement)
    })
    try {
      return await Promise.race([end, timeUp])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Never rejects: errors are reported, and the lookup is repeated. */
  #runTask(settlement: Settlement, { isNew }: { isNew: boolean }): Promise<Settlement> {
    const { transactionId } = settlement
    let task = this.#tasks.get(transactionId)
    if (task === undefined) {
      task = this.#settle(settlement, isNew).finally(() => {
        this.#tasks.delete(transactionId)
        this.#options.metrics.gauge('pending', '', this.#tasks.size)
      })
      this.#tasks.set(transactionId, task)
      this.#options.metrics.gauge('pending', '', this.#tasks.size)
    }
    return task
  }

  async #settle(settlement: Settlement, isNew: boolean): Promise<Settlement> {
    const { transactionId, firstValid } = settlement
    const chain = this.#options.chains.find(({ caip2 }) => caip2 === settlement.network)
    if (chain === undefined) return settlement
    const progress: Progress = { mayBeSent: !isNew, outcome: undefined, searchFrom: firstValid, isSearching: false }
    for (let pollMs = this.#options.pollMs; !this.#isStopping; ) {
      try {
        // Another process with the same store may have finished it.
        const stored = progress.mayBeSent ? await this.#options.store.get(transactionId) : undefined
        if (stored !== undefined && stored.state !== 'pending') return stored
        await step(settlement, chain.algod, progress)
        if (progress.outcome !== undefined) {
          await this.#options.store.finish(transactionId, progress.outcome)
          return { ...settlement, ...progress.outcome }
        }
      } catch (error) {
        // That a node does not respond is reported by /health.
        if (!(error instanceof AlgodError)) this.#options.onError(error)
      }
      await this.#sleep(progress.isSearching ? searchPollMs : pollMs)
      pollMs = Math.min(pollMs * 1.5, maxPollMs)
    }
    return settlement
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isStopping) return resolve()
      const wakeUp = (): void => {
        clearTimeout(timer)
        this.#wakeUps.delete(wakeUp)
        resolve()
      }
      const timer = setTimeout(wakeUp, ms)
      this.#wakeUps.add(wakeUp)
    })
  }
}

type Progress = {
  /** Whether a node can have accepted it: then only the ledger decides that it is not confirmed. */
  mayBeSent: boolean
  outcome: SettlementOutcome | undefined
  /** The first block that was not searched. */
  searchFrom: bigint
  /** Whether blocks are searched. */
  isSearching: boolean
}

/** One lookup, and one submission if it is not found. */
async function step(settlement: Settlement, algod: Algod, progress: Progress): Promise<void> {
  const { transactionId, group } = settlement
  if (progress.mayBeSent && (await isFound(transactionId, algod, progress))) return
  const wasSent = progress.mayBeSent
  // Before it is submitted: the process can end in between.
  progress.mayBeSent = true
  const sent = await algod.submit(group)
  if (sent.type === 'refused' && !wasSent && !sent.isAmbiguous && sent.code === 'other') {
    // No node can have accepted it before, and this one rejected it. Any other code may be temporary: the group is on the
    // ledger already, or the node is behind, full, expensive or of another network for now.
    progress.outcome = failed(sent.reason)
    return
  }
  if (await isFound(transactionId, algod, progress)) return
  if (sent.type !== 'accepted') await decideByTime(settlement, algod, progress)
}

/** In a block, or waiting for one. */
async function isFound(transactionId: string, algod: Algod, progress: Progress): Promise<boolean> {
  const state = await algod.transaction(transactionId)
  if (state.type === 'confirmed') progress.outcome = { state: 'settled', round: state.round }
  return state.type === 'confirmed' || state.type === 'pending'
}

/** It was not found: after its last valid round it is either in a block too old for a lookup by id, or in none. */
async function decideByTime({ transactionId, firstValid, lastValid }: Settlement, algod: Algod, progress: Progress) {
  const round = await algod.lastRound()
  if (round <= lastValid + settledRounds) return
  if (round - firstValid >= lookupRounds) {
    progress.isSearching = true
    for (; progress.searchFrom <= lastValid; progress.searchFrom++) {
      // Round 0 has no transactions, and some nodes do not serve it.
      if (progress.searchFrom === 0n || !(await algod.isInBlock(transactionId, progress.searchFrom))) continue
      progress.outcome = { state: 'settled', round: progress.searchFrom }
      return
    }
  } else if (await isFound(transactionId, algod, progress)) {
    // Looked up again after the round was read: it may have been confirmed in between.
    return
  }
  progress.outcome = failed('it expired before it was confirmed')
}

function failed(reason: string): SettlementOutcome {
  return { state: 'failed', errorReason: 'invalid_exact_avm_settlement_failed', errorMessage: reason }
}
