import { naming } from '../../../db/StoreError.js'
import type * as Sqlite from '../../../db/sqlite/Sqlite.js'
import {
  type MeteredWork,
  maxUnpaidPayers,
  type NotedWork,
  type ReturnedWork,
  type UnpaidWork,
  type UsageStore,
  type WorkState,
} from '../UsageStore.js'

/** Charges are text, because they have up to 64 bits. */
const schema = `
  CREATE TABLE IF NOT EXISTS metered_work (
    transaction_id TEXT PRIMARY KEY,
    payer TEXT NOT NULL,
    charge TEXT NOT NULL,
    settlement TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    is_taken INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX IF NOT EXISTS metered_work_by_time ON metered_work (until_ms);
  CREATE TABLE IF NOT EXISTS unpaid_payers (
    payer TEXT PRIMARY KEY,
    until_ms INTEGER NOT NULL,
    count INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS unpaid_payers_by_time ON unpaid_payers (until_ms);
`

type WorkRow = { transaction_id: string; payer: string; charge: string; settlement: string }

export type SqliteUsageOptions = {
  readonly path: string
  readonly database: Sqlite.Database
  readonly inTransaction: <T>(work: () => T) => T
}

/** Metered work in the file of the claims, shared by the processes of one machine. */
export class SqliteUsage implements UsageStore {
  readonly #options: SqliteUsageOptions
  readonly #statements

  constructor(options: SqliteUsageOptions) {
    this.#options = options
    this.#statements = naming(options.path, () => {
      options.database.exec(schema)
      return prepareAll(options.database)
    })
  }

  isUnpaid(payer: string, nowMs: number): boolean {
    return naming(this.#options.path, () => this.#statements.isUnpaid.get(payer, nowMs) !== undefined)
  }

  countUnpaid(limit: number, nowMs: number): number {
    const read = () => this.#statements.count.get(nowMs, limit) as { readonly count: number | bigint }
    return Math.min(Number(naming(this.#options.path, read).count), limit)
  }

  begin({ transactionId, payer, charge, order }: MeteredWork, leaseMs: number, nowMs: number): boolean {
    return this.#options.inTransaction(() => {
      if (this.#statements.isUnpaid.get(payer, nowMs) !== undefined) return false
      this.#statements.begin.run(transactionId, payer, charge.toString(), order, nowMs + leaseMs)
      return true
    })
  }

  note({ transactionId, payer, charge }: NotedWork, leaseMs: number, nowMs: number): WorkState {
    return this.#options.inTransaction(() => {
      const { changes } = this.#statements.note.run(charge.toString(), nowMs + leaseMs, transactionId)
      if (Number(changes) === 0) return 'gone'
      return this.#statements.isUnpaid.get(payer, nowMs) === undefined ? 'noted' : 'refused'
    })
  }

  chargeOf(transactionId: string): bigint | undefined {
    const read = () => this.#statements.charge.get(transactionId) as Pick<WorkRow, 'charge'> | undefined
    const row = naming(this.#options.path, read)
    return row === undefined ? undefined : BigInt(row.charge)
  }

  takeOver(transactionId: string): bigint | undefined {
    return this.#options.inTransaction(() => {
      this.#statements.take.run(transactionId)
      return this.chargeOf(transactionId)
    })
  }

  giveBack({ transactionId, order }: ReturnedWork, afterMs: number, nowMs: number): void {
    naming(this.#options.path, () => this.#statements.giveBack.run(order, nowMs + afterMs, transactionId))
  }

  end(transactionId: string): void {
    naming(this.#options.path, () => this.#statements.end.run(transactionId))
  }

  leaveUnpaid({ transactionId, payer, refuseMs }: UnpaidWork, nowMs: number): void {
    this.#options.inTransaction(() => {
      this.#statements.end.run(transactionId)
      this.#statements.expire.run(nowMs)
      this.#statements.refuse.run(payer, nowMs + refuseMs)
      this.#statements.forget.run(maxUnpaidPayers)
    })
  }

  takeAbandoned(limit: number, leaseMs: number, nowMs: number): MeteredWork[] {
    return this.#options.inTransaction(() => {
      const rows = this.#statements.abandoned.all(nowMs, limit) as WorkRow[]
      return rows.map(({ transaction_id: transactionId, payer, charge, settlement: order }) => {
        this.#statements.renew.run(nowMs + leaseMs, transactionId)
        return { transactionId, payer, charge: BigInt(charge), order }
      })
    })
  }
}

function prepareAll(database: Sqlite.Database) {
  const prepare = (sql: string) => database.prepare(sql)
  return {
    isUnpaid: prepare('SELECT 1 FROM unpaid_payers WHERE payer = ? AND until_ms > ?'),
    count: prepare(
      'SELECT coalesce(sum(count), 0) AS count FROM (SELECT count FROM unpaid_payers WHERE until_ms > ? LIMIT ?)',
    ),
    begin: prepare('INSERT OR REPLACE INTO metered_work VALUES (?, ?, ?, ?, ?, 0)'),
    note: prepare('UPDATE metered_work SET charge = ?, until_ms = ? WHERE transaction_id = ? AND is_taken = 0'),
    take: prepare('UPDATE metered_work SET is_taken = 1 WHERE transaction_id = ?'),
    giveBack: prepare('UPDATE metered_work SET settlement = ?, until_ms = ?, is_taken = 1 WHERE transaction_id = ?'),
    charge: prepare('SELECT charge FROM metered_work WHERE transaction_id = ?'),
    end: prepare('DELETE FROM metered_work WHERE transaction_id = ?'),
    expire: prepare('DELETE FROM unpaid_payers WHERE until_ms <= ?'),
    refuse: prepare(
      `INSERT INTO unpaid_payers VALUES (?1, ?2, 1)
       ON CONFLICT (payer) DO UPDATE SET until_ms = ?2, count = count + 1`,
    ),
    forget: prepare(
      `DELETE FROM unpaid_payers WHERE payer IN
         (SELECT payer FROM unpaid_payers ORDER BY until_ms DESC LIMIT -1 OFFSET ?)`,
    ),
    abandoned: prepare(
      'SELECT transaction_id, payer, charge, settlement FROM metered_work WHERE until_ms < ? ORDER BY until_ms LIMIT ?',
    ),
    renew: prepare('UPDATE metered_work SET until_ms = ?, is_taken = 1 WHERE transaction_id = ?'),
  }
}
