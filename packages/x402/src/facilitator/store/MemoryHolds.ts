/** Whom verified payments belong to, in the memory of one process. */
import { decideHold } from './holdDecisions.js'
import type { HoldResult, HoldStore, PaymentHold, Settlement, SettlementLimits } from './Settlement.js'

type Entry = Pick<PaymentHold, 'network' | 'claimant' | 'lastValid' | 'isPaidAfterwards'>

type MemoryHoldsOptions = {
  readonly get: (transactionId: string) => Settlement | undefined
  readonly check: (hold: PaymentHold, limits: SettlementLimits) => keyof SettlementLimits | undefined
}

/** Each takes some hundred bytes until the ledger is past the last valid round of the payment. */
const maxEntries = 100_000
/** How many of the oldest entries are searched for one that may be evicted. */
const maxSearched = 1_000

export class MemoryHolds implements HoldStore {
  readonly isCounted = false
  readonly #options: MemoryHoldsOptions
  readonly #entries = new Map<string, Entry>()

  constructor(options: MemoryHoldsOptions) {
    this.#options = options
  }

  hold(hold: PaymentHold, limits: SettlementLimits): HoldResult {
    const { transactionId, network, claimant, lastValid, isPaidAfterwards } = hold
    const settlement = this.#options.get(transactionId)
    const heldFor = this.claimantOf(transactionId)
    const limit = this.#options.check(hold, limits)
    const decision = decideHold({ isRecorded: settlement !== undefined, heldFor, claimant, limit })
    if (decision.type === 'known') return { type: 'known', settlement: settlement! }
    if (decision.type !== 'held') return decision
    if (heldFor === undefined) {
      if (this.#entries.size >= maxEntries && !this.#evict()) return { type: 'full' }
      this.#entries.set(transactionId, { network, claimant, lastValid, isPaidAfterwards })
    }
    return decision
  }

  claimantOf(transactionId: string): string | undefined {
    return this.#entries.get(transactionId)?.claimant
  }

  release(transactionId: string, claimant: string): void {
    if (this.claimantOf(transactionId) === claimant) this.#entries.delete(transactionId)
  }

  /** Ends the hold of a payment whose settlement is recorded, with its claimant. */
  end(transactionId: string): void {
    this.#entries.delete(transactionId)
  }

  forget(network: string, round: bigint): void {
    for (const [id, entry] of this.#entries) {
      if (entry.network === network && entry.lastValid < round) this.#entries.delete(id)
    }
  }

  /**
   * Makes room. Only payments that the seller serves after their settlement are evicted: another claimant of such a
   * payment still pays the seller in full.
   */
  #evict(): boolean {
    let searched = 0
    for (const [id, { isPaidAfterwards }] of this.#entries) {
      if (!isPaidAfterwards) return this.#entries.delete(id)
      if (++searched >= maxSearched) return false
    }
    return false
  }
}
