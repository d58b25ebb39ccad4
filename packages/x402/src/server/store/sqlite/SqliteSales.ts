import { existsSync } from 'node:fs'
import { naming, StoreError } from '../../../db/StoreError.js'
import * as Sqlite from '../../../db/sqlite/Sqlite.js'
import { beforeAll, pageBounds, pageOf, type RevenueRow, revenueOf, type SaleRow, saleOf } from '../SaleRow.js'
import {
  addedRevenue,
  dayOf,
  earlier,
  keepDays,
  nextSale,
  pageLimit,
  type Revenue,
  type Sale,
  type SalePage,
  type SaleQuery,
  type SaleStore,
} from '../Sales.js'

/** Amounts are text, because they have up to 64 unsigned bits, and SQLite cannot add their even larger sums exactly. */
export const salesSchema = `
  CREATE TABLE sales (
    transaction_id TEXT PRIMARY KEY,
    time_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('verified', 'pending', 'settled', 'refused', 'cancelled', 'unknown')),
    code TEXT NOT NULL,
    route TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    payer TEXT NOT NULL,
    pay_to TEXT NOT NULL,
    amount TEXT NOT NULL,
    asset TEXT NOT NULL,
    asset_name TEXT NOT NULL,
    decimals INTEGER,
    network TEXT NOT NULL,
    round INTEGER,
    first_valid INTEGER NOT NULL,
    last_valid INTEGER NOT NULL,
    is_due INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX sales_by_time ON sales (time_ms, transaction_id);
  CREATE INDEX sales_due ON sales (time_ms) WHERE is_due = 1;
  CREATE INDEX sales_undecided ON sales (time_ms) WHERE outcome IN ('verified', 'pending');
  CREATE INDEX sales_failed ON sales (time_ms) WHERE outcome IN ('refused', 'cancelled');
  CREATE TABLE revenue (
    day INTEGER NOT NULL,
    route TEXT NOT NULL,
    network TEXT NOT NULL,
    asset TEXT NOT NULL,
    asset_name TEXT NOT NULL,
    decimals INTEGER,
    settled INTEGER NOT NULL,
    amount TEXT NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (day, route, network, asset)
  ) STRICT;
`
const defaultMaxSales = 100_000
const maxFailures = 10_000
/** How many sales are recorded between two deletions of old ones. */
const cleanEvery = 500

export type SqliteSalesOptions = {
  readonly database: Sqlite.Database
  /** Runs work in one transaction. */
  readonly inTransaction: <T>(work: () => T) => T
  readonly maxSales?: number | undefined
  /** The path of the file, for errors. */
  readonly path: string
}

/** The sales in the file of `SqliteClaims`. */
export class SqliteSales implements SaleStore {
  readonly #options: SqliteSalesOptions
  readonly #statements
  #count = 0

  constructor(options: SqliteSalesOptions) {
    this.#options = options
    this.#statements = prepareAll(options.database)
  }

  record(sales: readonly Sale[]): void {
    this.#options.inTransaction(() => {
      for (const sale of sales) this.recordOne(sale)
    })
  }

  /** Records a sale in the caller's transaction. */
  recordOne(sale: Sale): void {
    const row = this.#statements.read.get(sale.transactionId) as SaleRow | undefined
    const next = nextSale(row && saleOf(row), sale)
    if (next === undefined) return
    const { transactionId, timeMs, outcome, code, route, method, path, payer, payTo, amount, asset } = next.sale
    const { assetName, decimals = null, network, round = null, firstValid, lastValid, isDue } = next.sale
    const what = [payer, payTo, amount, asset, assetName, decimals, network]
    const where = [route, method, path]
    const rest = [round, firstValid, lastValid, isDue ? 1 : 0]
    this.#statements.write.run(transactionId, timeMs, outcome, code, ...where, ...what, ...rest)
    const added = addedRevenue(next)
    if (added !== undefined) this.#add(added)
    if (this.#count++ % cleanEvery === 0) this.#clean(dayOf(timeMs))
  }

  list(query: SaleQuery): SalePage {
    const bounds = pageBounds(query)
    const { sinceMs, untilMs, outcomes, timeMs, transactionId, rows } = bounds
    const values = [sinceMs, untilMs, JSON.stringify(outcomes), timeMs, transactionId, rows]
    const found = naming(this.#options.path, () => this.#statements.list.all(...values) as SaleRow[])
    return pageOf(found, bounds)
  }

  revenue({ sinceDay = earlier }: { sinceDay?: number | undefined }): readonly Revenue[] {
    return naming(this.#options.path, () => this.#statements.revenue.all(sinceDay) as RevenueRow[]).map(revenueOf)
  }

  open(which: 'due' | 'undecided', beforeMs: number, limit: number, after = beforeAll): readonly Sale[] {
    const statement = this.#statements[which]
    const { timeMs, transactionId } = after
    const values = [beforeMs, timeMs, transactionId, pageLimit(limit)]
    return naming(this.#options.path, () => statement.all(...values) as SaleRow[]).map(saleOf)
  }

  delivered(transactionIds: readonly string[]): void {
    this.#options.inTransaction(() => {
      for (const id of transactionIds) this.#statements.delivered.run(id)
    })
  }

  #add({ day, route, network, asset, assetName, decimals, settled, amount, failed }: Revenue): void {
    const known = this.#statements.sum.get(day, route, network, asset) as { amount: string } | undefined
    const sum = (BigInt(known?.amount ?? 0) + BigInt(amount)).toString()
    this.#statements.add.run(day, route, network, asset, assetName, decimals ?? null, settled, sum, failed)
  }

  /** Anyone can cause failures, which must not displace payments. */
  #clean(today: number): void {
    this.#statements.dropFailed.run(maxFailures)
    this.#statements.dropOld.run(this.#options.maxSales ?? defaultMaxSales)
    for (const row of this.#statements.oldDays.all(earlier, today - keepDays) as RevenueRow[]) {
      this.#add({ ...revenueOf(row), day: earlier })
      this.#statements.dropDay.run(row.day, row.route, row.network, row.asset)
    }
  }
}

function prepareAll(database: Sqlite.Database) {
  const prepare = (sql: string) => database.prepare(sql)
  const failed = `outcome IN ('refused', 'cancelled')`
  // Names the index of these few sales, because SQLite would choose the index of all sales for the order.
  const open = (index: string, which: string) =>
    `SELECT * FROM sales INDEXED BY ${index} WHERE ${which} AND time_ms < ? AND (time_ms, transaction_id) > (?, ?)
       ORDER BY time_ms, transaction_id LIMIT ?`
  return {
    read: prepare('SELECT * FROM sales WHERE transaction_id = ?'),
    write: prepare(`INSERT OR REPLACE INTO sales VALUES (${Array(18).fill('?').join(', ')})`),
    list: prepare(
      `SELECT * FROM sales WHERE time_ms >= ? AND time_ms < ? AND outcome IN (SELECT value FROM json_each(?))
         AND (time_ms, transaction_id) < (?, ?) ORDER BY time_ms DESC, transaction_id DESC LIMIT ?`,
    ),
    due: prepare(open('sales_due', `is_due = 1 AND outcome = 'settled'`)),
    undecided: prepare(open('sales_undecided', `outcome IN ('verified', 'pending')`)),
    delivered: prepare('UPDATE sales SET is_due = 0 WHERE transaction_id = ?'),
    dropFailed: prepare(
      `DELETE FROM sales WHERE ${failed} AND time_ms <
         (SELECT time_ms FROM sales WHERE ${failed} ORDER BY time_ms DESC LIMIT 1 OFFSET ?)`,
    ),
    // A payment can be sent again as long as it is claimed, and must find that it was counted.
    dropOld: prepare(
      `DELETE FROM sales WHERE time_ms < (SELECT time_ms FROM sales ORDER BY time_ms DESC LIMIT 1 OFFSET ?)
         AND NOT (is_due = 1 AND outcome = 'settled') AND transaction_id NOT IN (SELECT transaction_id FROM claims)`,
    ),
    revenue: prepare('SELECT * FROM revenue WHERE day >= ? ORDER BY day DESC, route, network, asset'),
    sum: prepare('SELECT amount FROM revenue WHERE day = ? AND route = ? AND network = ? AND asset = ?'),
    add: prepare(
      `INSERT INTO revenue VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
       ON CONFLICT DO UPDATE SET asset_name = iif(?6 IS NULL, asset_name, ?5), decimals = COALESCE(?6, decimals),
         settled = settled + ?7, amount = ?8, failed = failed + ?9`,
    ),
    oldDays: prepare('SELECT * FROM revenue WHERE day > ? AND day < ? LIMIT 10000'),
    dropDay: prepare('DELETE FROM revenue WHERE day = ? AND route = ? AND network = ? AND asset = ?'),
  }
}

/** The sales in a file, and a function that closes it. */
export type OpenSales = { readonly sales: SaleStore; readonly close: () => void }

/** The version of the tables of `SqliteClaims`, and the first one that has sales. */
export const claimsVersion = 4
const firstVersion = 3

/**
 * Opens the sales in a file of `SqliteClaims` for reading while the shop runs. Creates and migrates nothing.
 *
 * @throws {@link StoreError} for a file that is missing, is not a seller's, or has no sales
 */
export function openSales(path: string): OpenSales {
  if (!existsSync(path)) {
    const hint = 'Pass the file that the seller passes to SqliteClaims.'
    throw new StoreError('store_failed', `the store ${path}: there is no such file`, { hint })
  }
  if (!Sqlite.hasStore(path, { table: 'claims', version: claimsVersion })) {
    const hint = 'Pass the file that the seller passes to SqliteClaims.'
    throw new StoreError('store_failed', `the store ${path}: it is empty`, { hint })
  }
  const database = naming(path, () => Sqlite.openAny(path))
  try {
    naming(path, () => database.exec('PRAGMA busy_timeout = 10000; PRAGMA query_only = ON;'))
    const found = naming(path, () => database.prepare('PRAGMA user_version').get()) as { user_version: number }
    const table = naming(path, () => database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'sales'").get())
    if (Number(found.user_version) < firstVersion || table === undefined) {
      const hint = 'A file of an older version is upgraded when a seller of this version opens it.'
      throw new StoreError('store_failed', `the store ${path}: it has no sales table`, { hint })
    }
    const inTransaction = (): never => {
      throw new StoreError('store_failed', `the store ${path}: it was opened read-only`)
    }
    const sales = new SqliteSales({ database, inTransaction, path })
    return { sales, close: () => database.close() }
  } catch (error) {
    database.close()
    throw error
  }
}
