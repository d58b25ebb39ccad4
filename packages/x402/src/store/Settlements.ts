/**
 * The settlements of a facilitator: recorded before anything is submitted, by the id of the transaction that pays, so that
 * a payment is submitted once and gets the same result however often it is requested.
 */

/**
 * Where a settlement stands: `pending` is recorded and may be submitted, `settled` is on the ledger, `failed` is not on
 * the ledger and never can be.
 */
export type SettlementState = 'pending' | 'settled' | 'failed'

/** A settlement as the store records it. */
export type Settlement = {
  /** The id of the transaction that pays. */
  readonly transactionId: string
  readonly state: SettlementState
  readonly network: string
  readonly payer: string
  readonly payTo: string
  readonly asset: string
  readonly amount: string
  /** The whole group, signed: exactly these bytes are submitted, also after a restart. */
  readonly group: readonly Uint8Array[]
  readonly firstValid: bigint
  /** After this round it cannot be confirmed any more. */
  readonly lastValid: bigint
  /** The fee that the facilitator pays. */
  readonly feeMicroAlgos: bigint
  /**
   * The gate and resource that it was settled for; empty if the caller named none. Undefined in records of versions that
   * did not keep it: those belong to every claimant.
   */
  readonly claimant?: string | undefined
  /** The round in which it was confirmed. */
  readonly round?: bigint | undefined
  readonly errorReason?: string | undefined
  readonly errorMessage?: string | undefined
  readonly createdMs: number
}

/** How a settlement ends. */
export type SettlementOutcome = Pick<Settlement, 'round' | 'errorReason' | 'errorMessage'> & {
  readonly state: 'settled' | 'failed'
}

/** Fees that were paid for a seller in a part of a day. */
export type PaidFees = {
  readonly payTo: string
  /** The first millisecond of the part: a multiple of `partMs`. */
  readonly fromMs: number
  readonly feeMicroAlgos: bigint
}

/**
 * A store of settlements, shared by all replicas of a facilitator. `MemorySettlements` and `SqliteSettlements`
 * (`@latchkey/x402/sqlite`) are two; a store on another database implements this type.
 */
export type SettlementStore = {
  /** Records a settlement, durably, if there is none of that id: of concurrent calls exactly one gets `true`. */
  readonly claim: (settlement: Settlement) => Promise<boolean> | boolean
  /** The settlement, or undefined if it is not recorded. */
  readonly get: (transactionId: string) => Promise<Settlement | undefined> | Settlement | undefined
  /** Ends a pending settlement. One that ended keeps its state, except that `failed` can become `settled`. */
  readonly finish: (transactionId: string, outcome: SettlementOutcome) => Promise<void> | void
  /** All pending settlements, the oldest one first. */
  readonly pending: () => Promise<readonly Settlement[]> | readonly Settlement[]
  /**
   * The fees of settled payments that were created since then, summed by seller and by parts of `partMs`: budgets of a day
   * continue after a restart. A store without it counts them from the start of the process.
   */
  readonly paidFees?: (sinceMs: number, partMs: number) => Promise<readonly PaidFees[]> | readonly PaidFees[]
  /** Deletes settlements that are older and not pending. */
  readonly forgetBefore: (createdMs: number) => Promise<void> | void
  /** Whether the store can be used now, for /health: throws if not. */
  readonly ping?: (() => Promise<void>) | undefined
  /** Releases the resources of the store. */
  readonly close: () => Promise<void> | void
}

/** Of settlements that ended, the oldest are deleted first. A payment on the ledger is still found there. */
const maxSettlements = 100_000

/** Settlements in memory: after a restart a pending payment is found on the ledger only. */
export class MemorySettlements implements SettlementStore {
  readonly #settlements = new Map<string, Settlement>()

  claim(settlement: Settlement): boolean {
    if (this.#settlements.has(settlement.transactionId)) return false
    this.#settlements.set(settlement.transactionId, settlement)
    if (this.#settlements.size > maxSettlements) this.#deleteOldest()
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

  paidFees(sinceMs: number, partMs: number): PaidFees[] {
    const fees = new Map<string, PaidFees>()
    for (const { state, createdMs, payTo, feeMicroAlgos } of this.#settlements.values()) {
      if (state !== 'settled' || createdMs < sinceMs || feeMicroAlgos === 0n) continue
      const fromMs = createdMs - (createdMs % partMs)
      const key = `${fromMs} ${payTo}`
      const before = fees.get(key)?.feeMicroAlgos ?? 0n
      fees.set(key, { payTo, fromMs, feeMicroAlgos: before + feeMicroAlgos })
    }
    return [...fees.values()]
  }

  forgetBefore(createdMs: number): void {
    for (const [transactionId, settlement] of this.#settlements) {
      if (settlement.state !== 'pending' && settlement.createdMs < createdMs) this.#settlements.delete(transactionId)
    }
  }

  close(): void {}

  #deleteOldest(): void {
    for (const [transactionId, { state }] of this.#settlements) {
      if (state === 'pending') continue
      this.#settlements.delete(transactionId)
      return
    }
  }
}
