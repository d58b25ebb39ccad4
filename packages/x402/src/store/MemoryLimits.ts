import { feePeriod, RollingSums, ratePeriod } from './RollingSums.js'
import type { Settlement } from './Settlement.js'
import type { SettlementLimits } from './SettlementLimits.js'

type Counted = Pick<Settlement, 'payer' | 'payTo' | 'feeMicroAlgos'>

/** A settlement that is pending, or failed and may be on the ledger after all. */
type Entry = {
  /** The part of the day that its fee counts in. */
  readonly feePart: number
  isRejected: boolean
}

/**
 * Sellers for whom fees were paid in one day. None is evicted, because that would reset its limit; a further one is refused.
 * Each has cost at least one fee, so that a stranger cannot fill this for nothing.
 */
const maxSellers = 100_000
const allSellers = ''

/** What counts against the limits of one process, and is lost with it. */
export class MemoryLimits {
  readonly #fees: RollingSums
  readonly #payerRates: RollingSums
  readonly #payToRates: RollingSums
  /** Settlements that have not ended. */
  readonly #pending = { payer: new Map<string, number>(), payTo: new Map<string, number>() }
  /** By transaction id. */
  readonly #entries = new Map<string, Entry>()

  constructor(nowMs: () => number) {
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
    if (feesInAll !== undefined && this.#fees.get(allSellers) + fee > feesInAll) return 'feesInAll'
    if (feesPerPayTo === undefined) return undefined
    const spent = this.#fees.get(payTo)
    if (spent + fee > feesPerPayTo) return 'feesPerPayTo'
    return spent === 0n && this.#fees.size > maxSellers ? 'feesInAll' : undefined
  }

  /** Counts one that is recorded now. */
  count({ transactionId, payer, payTo, feeMicroAlgos }: Settlement, limits: SettlementLimits): void {
    if (limits.payerPerMinute !== undefined) this.#payerRates.add(payer, 1n)
    if (limits.payToPerMinute !== undefined) this.#payToRates.add(payTo, 1n)
    add(this.#pending.payer, payer, 1)
    add(this.#pending.payTo, payTo, 1)
    let feePart = 0
    if (feeMicroAlgos > 0n) {
      feePart = this.#fees.add(payTo, feeMicroAlgos)
      this.#fees.add(allSellers, feeMicroAlgos)
    }
    this.#entries.set(transactionId, { feePart, isRejected: false })
  }

  /** Nodes reject one that is pending, or no longer do. */
  setRejected({ transactionId, payTo }: Settlement, isRejected: boolean): void {
    const entry = this.#entries.get(transactionId)
    if (entry === undefined || entry.isRejected === isRejected) return
    entry.isRejected = isRejected
    add(this.#pending.payTo, payTo, isRejected ? -1 : 1)
  }

  /** It ended. The fee of one that failed counts no longer; it counts again if it is on the ledger after all. */
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

  /** One that ended is deleted. */
  forget(transactionId: string): void {
    this.#entries.delete(transactionId)
  }
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}
