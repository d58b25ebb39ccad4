import type * as Sqlite from '../../../db/sqlite/Sqlite.js'
import { type Admission, decideHold } from '../holdDecisions.js'
import type { HoldResult, HoldStore, PaymentHold, Settlement, SettlementLimits } from '../Settlement.js'
import { HeldAmounts } from './HeldAmounts.js'

/**
 * The additions of file version 4: whom verified payments belong to. Rounds are text of a fixed length, because they
 * have up to 64 bits and the integers of SQLite have 63.
 */
export const holdsMigration = (): string => `
  CREATE TABLE claimants (
    transaction_id TEXT PRIMARY KEY,
    network TEXT NOT NULL,
    claimant TEXT NOT NULL,
    last_valid TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX claimants_by_round ON claimants (network, last_valid);
`

type SqliteHoldsOptions = {
  readonly database: Sqlite.Database
  readonly get: (transactionId: string) => Settlement | undefined
  readonly check: (hold: PaymentHold, limits: SettlementLimits) => keyof SettlementLimits | undefined
  readonly countRates: (hold: PaymentHold, limits: SettlementLimits) => void
  readonly read: <T>(work: () => T) => T
  /** Runs in a write transaction with other changes. */
  readonly change: <T>(make: () => T, options: { readonly isSynced: boolean }) => Promise<T>
  readonly nowMs: () => number
}

/** Verified payments of all processes that use the file: whom they belong to, and their amounts. */
export class SqliteHolds implements HoldStore {
  readonly isCounted = true
  readonly #options: SqliteHoldsOptions
  readonly #statements
  readonly #amounts: HeldAmounts

  constructor(options: SqliteHoldsOptions) {
    this.#options = options
    this.#amounts = new HeldAmounts(options.database, options.nowMs)
    const prepare = (sql: string) => options.database.prepare(sql)
    this.#statements = {
      add: prepare('INSERT INTO claimants VALUES (?, ?, ?, ?)'),
      get: prepare('SELECT claimant FROM claimants WHERE transaction_id = ?'),
      end: prepare('DELETE FROM claimants WHERE transaction_id = ?'),
      release: prepare('DELETE FROM claimants WHERE transaction_id = ? AND claimant = ?'),
      forget: prepare('DELETE FROM claimants WHERE network = ? AND last_valid < ?'),
      // Rounds of settlements are text of any length.
      forgetUncharged: prepare(
        `DELETE FROM settlements WHERE network = ?1 AND amount = '0' AND state = 'settled'
           AND (length(last_valid) < length(?2) OR (length(last_valid) = length(?2) AND last_valid < ?2))`,
      ),
    }
  }

  /** Survives the process in any case, and the machine if the seller works before it is paid. */
  hold(hold: PaymentHold, limits: SettlementLimits): Promise<HoldResult> {
    return this.#options.change(() => this.#hold(hold, limits), { isSynced: hold.isPaidAfterwards })
  }

  #hold(hold: PaymentHold, limits: SettlementLimits): HoldResult {
    const { transactionId, network, claimant, lastValid, isPaidAfterwards } = hold
    const { get, check, countRates } = this.#options
    this.#amounts.deleteExpired()
    const settlement = get(transactionId)
    const heldFor = this.find(transactionId)
    const isCounted = this.#amounts.has(transactionId)
    const limit = isCounted ? undefined : check(hold, limits)
    const decision = decideHold({ isRecorded: settlement !== undefined, heldFor, claimant, limit })
    if (decision.type === 'known') return { type: 'known', settlement: settlement! }
    if (decision.type !== 'held') return decision
    if (!decision.wasHeld) this.#statements.add.run(transactionId, network, claimant, roundText(lastValid))
    if (isCounted) this.#amounts.extend(hold)
    else {
      const isAdmitted = limit === undefined
      this.#amounts.add(hold, { isAdmitted })
      if (isAdmitted && isPaidAfterwards) countRates(hold, limits)
    }
    return { ...decision, ahead: this.#amounts.ahead(hold) }
  }

  claimantOf(transactionId: string): string | undefined {
    return this.#options.read(() => this.find(transactionId))
  }

  async release(transactionId: string, claimant: string): Promise<void> {
    const release = (): void => {
      const { changes } = this.#statements.release.run(transactionId, claimant)
      if (Number(changes) > 0) this.#amounts.delete(transactionId)
    }
    await this.#options.change(release, { isSynced: false })
  }

  async forget(network: string, round: bigint): Promise<void> {
    const forget = (): void => {
      this.#statements.forget.run(network, roundText(round))
      this.#statements.forgetUncharged.run(network, round.toString())
    }
    await this.#options.change(forget, { isSynced: false })
  }

  /** Like `claimantOf`, in a transaction of the caller. */
  find(transactionId: string): string | undefined {
    const row = this.#statements.get.get(transactionId) as { claimant: string } | undefined
    return row?.claimant
  }

  /** What the hold of a payment counts for, in a transaction of the caller. */
  admission(transactionId: string): Admission | undefined {
    return this.#amounts.admission(transactionId)
  }

  /** Ends the hold of a payment whose settlement is recorded in the same transaction, with its claimant. */
  settle(settlement: Settlement): void {
    this.#statements.end.run(settlement.transactionId)
    this.#amounts.settle(settlement)
  }

  /** Ends the amounts of a settlement, in the transaction that ends it. */
  end(transactionId: string, isSettled: boolean): void {
    this.#amounts.end(transactionId, isSettled)
  }
}

function roundText(round: bigint): string {
  return round.toString().padStart(20, '0')
}
