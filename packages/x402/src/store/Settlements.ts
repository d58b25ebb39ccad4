/**
 * What a facilitator knows of the payments it settles: written down before anything is sent, by the id of the
 * transaction that pays, so that however often and by whomever it is asked, a payment is sent once and answered the same.
 */
export type SettlementState =
  /** Written down; it may have been sent. */
  | 'pending'
  | 'settled'
  /** It is not in the ledger and can never be. */
  | 'failed'

export type Settlement = {
  readonly transactionId: string
  readonly state: SettlementState
  readonly network: string
  readonly payer: string
  readonly payTo: string
  readonly asset: string
  readonly amount: string
  /** The whole group, signed: exactly these bytes are sent, also after a restart. */
  readonly group: readonly Uint8Array[]
  readonly firstValid: bigint
  /** After this round it cannot come into the ledger any more. */
  readonly lastValid: bigint
  readonly feeMicroAlgos: bigint
  readonly round?: bigint | undefined
  readonly errorReason?: string | undefined
  readonly errorMessage?: string | undefined
  readonly createdMs: number
}

export type SettlementOutcome = Pick<Settlement, 'round' | 'errorReason' | 'errorMessage'> & {
  readonly state: 'settled' | 'failed'
}

export type SettlementStore = {
  /** Writes it down if nobody did before: `true` for exactly one of all who try, on all replicas. */
  readonly claim: (settlement: Settlement) => Promise<boolean> | boolean
  readonly get: (transactionId: string) => Promise<Settlement | undefined> | Settlement | undefined
  /** Ends a pending one; what has an end keeps it, except that what the ledger has after all is settled. */
  readonly finish: (transactionId: string, outcome: SettlementOutcome) => Promise<void> | void
  readonly pending: () => Promise<readonly Settlement[]> | readonly Settlement[]
  /** Forgets what ended before that time; never what is pending. */
  readonly forgetBefore: (createdMs: number) => Promise<void> | void
  readonly close: () => Promise<void> | void
}

/** Those that ended; the oldest are forgotten first. A payment on the ledger is found there all the same. */
const maxKept = 100_000

/** For one process, and gone with it: a payment that was pending then is found again only on the ledger. */
export class MemorySettlements implements SettlementStore {
  readonly #settlements = new Map<string, Settlement>()

  claim(settlement: Settlement): boolean {
    if (this.#settlements.has(settlement.transactionId)) return false
    this.#settlements.set(settlement.transactionId, settlement)
    if (this.#settlements.size > maxKept) this.#forgetOldest()
    return true
  }

  get(transactionId: string): Settlement | undefined {
    return this.#settlements.get(transactionId)
  }

  finish(transactionId: string, outcome: SettlementOutcome): void {
    const settlement = this.#settlements.get(transactionId)
    if (settlement === undefined || settlement.state === 'settled') return
    if (settlement.state === 'failed' && outcome.state !== 'settled') return
    const { errorReason: _, errorMessage: __, ...rest } = settlement
    this.#settlements.set(transactionId, { ...rest, ...outcome })
  }

  pending(): Settlement[] {
    return [...this.#settlements.values()].filter(({ state }) => state === 'pending')
  }

  forgetBefore(createdMs: number): void {
    for (const [transactionId, settlement] of this.#settlements) {
      if (settlement.state !== 'pending' && settlement.createdMs < createdMs) this.#settlements.delete(transactionId)
    }
  }

  close(): void {}

  #forgetOldest(): void {
    for (const [transactionId, { state }] of this.#settlements) {
      if (state === 'pending') continue
      this.#settlements.delete(transactionId)
      return
    }
  }
}
