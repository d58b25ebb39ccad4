import type * as Sqlite from '../../../db/sqlite/Sqlite.js'
import { decideHold } from '../holdDecisions.js'
import type { HoldResult, HoldStore, PaymentHold, Settlement, SettlementLimits } from '../Settlement.js'

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
  readonly read: <T>(work: () => T) => T
  /** Runs in a write transaction with other changes. */
  readonly change: <T>(make: () => T, options: { readonly isSynced: boolean }) => Promise<T>
}

/** Whom verified payments belong to, over all processes that use the file. Each process counts the costs itself. */
export class SqliteHolds implements HoldStore {
  readonly isCounted = false
  readonly #options: SqliteHoldsOptions
  readonly #statements

  constructor(options: SqliteHoldsOptions) {
    this.#options = options
    const prepare = (sql: string) => options.database.prepare(sql)
    this.#statements = {
      add: prepare('INSERT INTO claimants VALUES (?, ?, ?, ?)'),
      get: prepare('SELECT claimant FROM claimants WHERE transaction_id = ?'),
      end: prepare('DELETE FROM claimants WHERE transaction_id = ?'),
      release: prepare('DELETE FROM claimants WHERE transaction_id = ? AND claimant = ?'),
      forget: prepare('DELETE FROM claimants WHERE network = ? AND last_valid < ?'),
    }
  }

  /** Survives the process in any case, and the machine if the seller works before it is paid. */
  hold(hold: PaymentHold, limits: SettlementLimits): Promise<HoldResult> {
    return this.#options.change(() => this.#hold(hold, limits), { isSynced: hold.isPaidAfterwards })
  }

  #hold(hold: PaymentHold, limits: SettlementLimits): HoldResult {
    const { transactionId, network, claimant, lastValid } = hold
    const { get, check } = this.#options
    const settlement = get(transactionId)
    const heldFor = this.find(transactionId)
    const limit = check(hold, limits)
    const decision = decideHold({ isRecorded: settlement !== undefined, heldFor, claimant, limit })
    if (decision.type === 'known') return { type: 'known', settlement: settlement! }
    const isNew = decision.type === 'held' && !decision.wasHeld
    if (isNew) this.#statements.add.run(transactionId, network, claimant, roundText(lastValid))
    return decision
  }

  claimantOf(transactionId: string): string | undefined {
    return this.#options.read(() => this.find(transactionId))
  }

  async release(transactionId: string, claimant: string): Promise<void> {
    await this.#options.change(() => this.#statements.release.run(transactionId, claimant), { isSynced: false })
  }

  async forget(network: string, round: bigint): Promise<void> {
    await this.#options.change(() => this.#statements.forget.run(network, roundText(round)), { isSynced: false })
  }

  /** Like `claimantOf`, in a transaction of the caller. */
  find(transactionId: string): string | undefined {
    const row = this.#statements.get.get(transactionId) as { claimant: string } | undefined
    return row?.claimant
  }

  /** Ends the hold of a payment whose settlement is recorded in the same transaction, with its claimant. */
  end(transactionId: string): void {
    this.#statements.end.run(transactionId)
  }
}

function roundText(round: bigint): string {
  return round.toString().padStart(20, '0')
}
