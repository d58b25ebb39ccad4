/** Whom verified payments belong to, and the fees that are reserved for them, in the memory of one process. */
import { type Admission, decideHold } from './holdDecisions.js'
import type { HoldResult, HoldStore, PaymentHold, Settlement, SettlementLimits } from './Settlement.js'

type Entry = Pick<PaymentHold, 'network' | 'claimant' | 'lastValid' | 'isPaidAfterwards'> & {
  /** Undefined if the payment was held when a limit was reached. */
  reservation: Reservation | undefined
}

type Reservation = Pick<PaymentHold, 'payTo' | 'feeMicroAlgos'> & { untilMs: number }

type MemoryHoldsOptions = {
  readonly get: (transactionId: string) => Settlement | undefined
  readonly check: (hold: PaymentHold, limits: SettlementLimits) => keyof SettlementLimits | undefined
  readonly countRates: (hold: PaymentHold, limits: SettlementLimits) => void
  readonly forgetUncharged: (network: string, round: bigint) => void
  readonly nowMs: () => number
}

/** Each takes some hundred bytes until the ledger is past the last valid round of the payment. */
const maxEntries = 100_000
/** How many of the oldest entries are searched for one that may be evicted. */
const maxSearched = 1_000
/** How often the fees of expired holds are returned. */
const expireEveryMs = 1_000
const allSellers = ''

export class MemoryHolds implements HoldStore {
  readonly isCounted = false
  readonly #options: MemoryHoldsOptions
  readonly #entries = new Map<string, Entry>()
  /** The entries with a reservation. */
  readonly #reserved = new Set<Entry>()
  readonly #fees = new Map<string, bigint>()
  #expiredMs = Number.NEGATIVE_INFINITY

  constructor(options: MemoryHoldsOptions) {
    this.#options = options
  }

  hold(hold: PaymentHold, limits: SettlementLimits): HoldResult {
    const { transactionId, network, claimant, lastValid, isPaidAfterwards, holdMs } = hold
    const settlement = this.#options.get(transactionId)
    const heldFor = this.claimantOf(transactionId)
    const isAdmitted = this.admission(transactionId) !== undefined
    const limit = isAdmitted ? undefined : this.#options.check(hold, limits)
    const decision = decideHold({ isRecorded: settlement !== undefined, heldFor, claimant, limit })
    if (decision.type === 'known') return { type: 'known', settlement: settlement! }
    if (decision.type !== 'held') return decision
    if (heldFor === undefined) {
      if (this.#entries.size >= maxEntries && !this.#evict()) return { type: 'full' }
      this.#entries.set(transactionId, { network, claimant, lastValid, isPaidAfterwards, reservation: undefined })
    }
    const untilMs = this.#options.nowMs() + holdMs
    const entry = this.#entries.get(transactionId)!
    if (entry.reservation !== undefined) entry.reservation.untilMs = Math.max(entry.reservation.untilMs, untilMs)
    else if (limit === undefined) {
      this.#reserve(entry, { payTo: hold.payTo, feeMicroAlgos: hold.feeMicroAlgos, untilMs })
      if (isPaidAfterwards) this.#options.countRates(hold, limits)
    }
    return decision
  }

  claimantOf(transactionId: string): string | undefined {
    return this.#entries.get(transactionId)?.claimant
  }

  /** What the hold of a payment counts for; undefined if it has expired. */
  admission(transactionId: string): Admission | undefined {
    const entry = this.#entries.get(transactionId)
    if (entry?.reservation !== undefined && entry.reservation.untilMs <= this.#options.nowMs()) this.#return(entry)
    return entry?.reservation && entry
  }

  /** The fees of all held payments for one seller, or for all. */
  reservedFees(payTo = allSellers): bigint {
    const now = this.#options.nowMs()
    if (Math.abs(now - this.#expiredMs) >= expireEveryMs) {
      this.#expiredMs = now
      for (const entry of this.#reserved) if (entry.reservation!.untilMs <= now) this.#return(entry)
    }
    return this.#fees.get(payTo) ?? 0n
  }

  release(transactionId: string, claimant: string): void {
    if (this.claimantOf(transactionId) === claimant) this.end(transactionId)
  }

  /** Ends the hold of a payment whose settlement is recorded, with its claimant. */
  end(transactionId: string): void {
    const entry = this.#entries.get(transactionId)
    if (entry === undefined) return
    this.#return(entry)
    this.#entries.delete(transactionId)
  }

  forget(network: string, round: bigint): void {
    for (const [id, entry] of this.#entries) if (entry.network === network && entry.lastValid < round) this.end(id)
    this.#options.forgetUncharged(network, round)
  }

  #reserve(entry: Entry, reservation: Reservation): void {
    entry.reservation = reservation
    this.#reserved.add(entry)
    this.#changeFees(reservation, reservation.feeMicroAlgos)
  }

  #return(entry: Entry): void {
    const { reservation } = entry
    if (reservation === undefined) return
    entry.reservation = undefined
    this.#reserved.delete(entry)
    this.#changeFees(reservation, -reservation.feeMicroAlgos)
  }

  #changeFees({ payTo }: Reservation, change: bigint): void {
    for (const key of [payTo, allSellers]) {
      const fees = (this.#fees.get(key) ?? 0n) + change
      if (fees > 0n) this.#fees.set(key, fees)
      else this.#fees.delete(key)
    }
  }

  /**
   * Makes room. Only payments that the seller serves after their settlement are evicted: another claimant of such a
   * payment still pays the seller in full.
   */
  #evict(): boolean {
    let searched = 0
    for (const [id, { isPaidAfterwards }] of this.#entries) {
      if (!isPaidAfterwards) {
        this.end(id)
        return true
      }
      if (++searched >= maxSearched) return false
    }
    return false
  }
}
