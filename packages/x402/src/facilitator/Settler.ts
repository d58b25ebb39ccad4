/**
 * Sends what was written down, and finds out what became of it. Every settlement has one task in this process that
 * attends to it, however many ask; and an answer is only final if the ledger, or time, has decided.
 */
import { type Algod, AlgodError } from '@latchkey/algod'
import type { Chain } from '../chain/Chain.js'
import type { Settlement, SettlementOutcome, SettlementStore } from '../store/Settlements.js'
import type { Metrics } from './Metrics.js'
import { codes, PaymentError } from './PaymentError.js'

export type SettlerOptions = {
  store: SettlementStore
  chains: readonly Chain[]
  metrics: Metrics
  settleTimeoutMs: number
  pollMs: number
  keepMs: number
  onError: (error: unknown) => void
}

/** How far the wait between two looks grows, for a payment that takes long. */
const maxPollMs = 5_000
/** And for one whose blocks no node has any more: somebody has to add one that does. */
const searchPollMs = 60_000
const forgetEveryMs = 60 * 60 * 1000
/** Attended to at once; each takes some memory and a look at the node now and then. */
const maxAttended = 10_000
/** A node that has come this far beyond a transaction's last round has seen it if it ever came. */
const settledRounds = 2n
/** How many rounds back nodes find a transaction by its id; beyond that its block has to be looked for. */
const lookupRounds = 1_000n

export type Begun = {
  readonly settlement: Settlement
  /** Whether it was written down by this call. */
  readonly isOurs: boolean
}

export class Settler {
  readonly #options: SettlerOptions
  readonly #attended = new Map<string, Promise<Settlement>>()
  readonly #claiming = new Set<Promise<boolean>>()
  readonly #stopping = new AbortController()
  readonly #forgetting: NodeJS.Timeout
  #stopped: Promise<void> | undefined

  constructor(options: SettlerOptions) {
    this.#options = options
    this.#forgetting = setInterval(() => void this.#forget(), forgetEveryMs).unref()
  }

  find(transactionId: string): Promise<Settlement | undefined> | Settlement | undefined {
    return this.#options.store.get(transactionId)
  }

  /** Writes it down and sends it; or joins those who wait for what somebody else wrote. */
  async begin(settlement: Settlement): Promise<Begun> {
    if (this.#stopping.signal.aborted) throw new PaymentError(codes.busy, 'the facilitator is about to stop; ask again')
    if (this.#attended.size >= maxAttended)
      throw new PaymentError(codes.busy, 'too many payments are on their way just now')
    const isOurs = await this.#claim(settlement)
    if (isOurs) {
      return { settlement: await this.#waitFor(this.#attend(settlement, { isNew: true }), settlement), isOurs }
    }
    const known = await this.#options.store.get(settlement.transactionId)
    return { settlement: await this.wait(known ?? settlement), isOurs }
  }

  /** Its end, or how it stands when the time is up. */
  async wait(settlement: Settlement): Promise<Settlement> {
    if (settlement.state !== 'pending') return settlement
    return this.#waitFor(this.#attend(settlement, { isNew: false }), settlement)
  }

  async resume(): Promise<number> {
    await this.#forget()
    const pending = await this.#options.store.pending()
    for (const settlement of pending) void this.#attend(settlement, { isNew: false })
    return pending.length
  }

  /** What is on its way stays written down, for whoever comes next. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    clearInterval(this.#forgetting)
    this.#stopping.abort()
    await Promise.allSettled(this.#claiming)
    await Promise.all(this.#attended.values())
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

  async #forget(): Promise<void> {
    try {
      await this.#options.store.forgetBefore(Date.now() - this.#options.keepMs)
    } catch (error) {
      this.#options.onError(error)
    }
  }

  async #waitFor(end: Promise<Settlement>, settlement: Settlement): Promise<Settlement> {
    let timer: NodeJS.Timeout | undefined
    const timeUp = new Promise<Settlement>((resolve) => {
      timer = setTimeout(resolve, this.#options.settleTimeoutMs, settlement)
    })
    try {
      return await Promise.race([end, timeUp])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Never rejects: what goes wrong is told, and looked at again. */
  #attend(settlement: Settlement, { isNew }: { isNew: boolean }): Promise<Settlement> {
    const { transactionId } = settlement
    let attending = this.#attended.get(transactionId)
    if (attending === undefined) {
      attending = this.#settle(settlement, isNew).finally(() => {
        this.#attended.delete(transactionId)
        this.#options.metrics.gauge('pending', '', this.#attended.size)
      })
      this.#attended.set(transactionId, attending)
      this.#options.metrics.gauge('pending', '', this.#attended.size)
    }
    return attending
  }

  async #settle(settlement: Settlement, isNew: boolean): Promise<Settlement> {
    const { transactionId, firstValid } = settlement
    const chain = this.#options.chains.find(({ caip2 }) => caip2 === settlement.network)
    if (chain === undefined) return settlement
    const progress: Progress = { mayBeSent: !isNew, outcome: undefined, searchFrom: firstValid, isSearching: false }
    for (let pollMs = this.#options.pollMs; !this.#stopping.signal.aborted; ) {
      try {
        // Another process with the same store may have ended it: then that is its end.
        const stored = progress.mayBeSent ? await this.#options.store.get(transactionId) : undefined
        if (stored !== undefined && stored.state !== 'pending') return stored
        await step(settlement, chain.algod, progress)
        if (progress.outcome !== undefined) {
          await this.#options.store.finish(transactionId, progress.outcome)
          return { ...settlement, ...progress.outcome }
        }
      } catch (error) {
        // That a node does not answer is nothing new for the operator, who has /health.
        if (!(error instanceof AlgodError)) this.#options.onError(error)
      }
      await this.#sleep(progress.isSearching ? searchPollMs : pollMs)
      pollMs = Math.min(pollMs * 1.5, maxPollMs)
    }
    return settlement
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.#stopping
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
      if (signal.aborted) done()
    })
  }
}

type Progress = {
  /** Whether a node can have taken it: then only the ledger can tell that it is not there. */
  mayBeSent: boolean
  outcome: SettlementOutcome | undefined
  /** The first block that was not looked into. */
  searchFrom: bigint
  /** Whether a block was not to be had. */
  isSearching: boolean
}

/**
 * Refusals that say nothing of what is to come: it is there already, or a node is behind, full, dear or of another
 * network for now. All others are the ledger's last word on something that nobody has taken.
 */
const passing = [
  'already in ledger',
  'overlapping lease',
  'txn dead',
  'reached capacity',
  'below threshold',
  'does not match expected',
]

/** One look, and one sending if it is not known to be there. */
async function step(settlement: Settlement, algod: Algod, progress: Progress): Promise<void> {
  const { transactionId, group } = settlement
  if (progress.mayBeSent && (await isFound(transactionId, algod, progress))) return
  const wasSent = progress.mayBeSent
  // Before, not after: the program may end in between.
  progress.mayBeSent = true
  const sent = await algod.submit(group)
  if (sent.type === 'refused' && !wasSent && !sent.isAmbiguous && !passing.some((text) => sent.reason.includes(text))) {
    // Nobody can have taken it before, and this node did not.
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

/** It is nowhere to be found: once its last round is over, it is either in a block that is too old to ask for, or in none. */
async function decideByTime({ transactionId, firstValid, lastValid }: Settlement, algod: Algod, progress: Progress) {
  const round = await algod.lastRound()
  if (round <= lastValid + settledRounds) return
  if (round - firstValid >= lookupRounds) {
    progress.isSearching = true
    for (; progress.searchFrom <= lastValid; progress.searchFrom++) {
      // The first round has no transactions, and some nodes do not show it.
      if (progress.searchFrom === 0n || !(await algod.isInBlock(transactionId, progress.searchFrom))) continue
      progress.outcome = { state: 'settled', round: progress.searchFrom }
      return
    }
  } else if (await isFound(transactionId, algod, progress)) {
    // Asked again after the round was seen: it may have come in between.
    return
  }
  progress.outcome = failed('it expired before it was confirmed')
}

function failed(reason: string): SettlementOutcome {
  return { state: 'failed', errorReason: codes.settlement, errorMessage: reason }
}
