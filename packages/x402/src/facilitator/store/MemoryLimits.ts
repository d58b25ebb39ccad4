import { feePeriod, RollingSums, ratePeriod } from './RollingSums.js'
import type { Settlement } from './Settlement.js'
import type { SettlementLimits } from './SettlementLimits.js'

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
export class MemoryLimits {
  readonly #fees: RollingSums
  readonly #payerRates: RollingSums
  readonly #payToRates: RollingSums
  /** Settlements that have not ended. */
  readonly #pending = { payer: new Map<string, number>(), payTo: new Map<string, number>() }
  /** Keyed by transaction id. */
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

  /** Counts a settlement that is being recorded. */
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
