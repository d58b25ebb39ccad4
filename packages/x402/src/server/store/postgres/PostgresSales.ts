import type { PostgresConnection } from '../../../db/postgres/PostgresConnection.js'
import { type RevenueRow, revenueOf, type SaleRow, saleOf } from '../SaleRow.js'
import {
  cursorOf,
  dayOf,
  earlier,
  keepDays,
  pageLimit,
  parseCursor,
  type Revenue,
  type Sale,
  type SaleOutcome,
  type SalePage,
  type SaleQuery,
  type SaleStore,
} from '../Sales.js'

const all: readonly SaleOutcome[] = ['verified', 'pending', 'settled', 'refused', 'cancelled', 'unknown']
const defaultMaxSales = 1_000_000
const maxFailures = 10_000
/** How many rows are deleted at once, and in how many batches. */
const [cleanBatch, maxBatches] = [500, 20]

/** Sales in the database of the claims. */
export class PostgresSales implements SaleStore {
  readonly #connection: PostgresConnection
  readonly #maxSales: number
  /** How many sales are recorded between two deletions of old ones. A deletion searches all sales. */
  readonly #cleanEvery: number
  readonly #statements
  #count = 0
  #cleaning: Promise<void> | undefined
  #isClosed = false

  constructor(connection: PostgresConnection, maxSales = defaultMaxSales) {
    this.#connection = connection
    this.#maxSales = maxSales
    this.#cleanEvery = Math.min(10_000, Math.max(100, Math.floor(maxSales / 10)))
    this.#statements = statementsOf(connection.quotedSchema)
  }

  async record(sales: readonly Sale[]): Promise<void> {
    if (sales.length === 0) return
    await this.#connection.read(this.#statements.record, [`[${sales.map(saleJson).join(',')}]`])
    const before = this.#count
    this.#count += sales.length
    const isDue = Math.floor(before / this.#cleanEvery) !== Math.floor(this.#count / this.#cleanEvery)
    if (isDue) this.#clean(Math.max(...sales.map(({ timeMs }) => timeMs)))
  }

  async list({ outcomes, sinceMs = 0, untilMs = Number.MAX_SAFE_INTEGER, after, limit }: SaleQuery): Promise<SalePage> {
    const { timeMs, transactionId } = (after === undefined ? undefined : parseCursor(after)) ?? {
      timeMs: Number.MAX_SAFE_INTEGER,
      transactionId: '',
    }
    const count = pageLimit(limit)
    const values = [sinceMs, untilMs, outcomes ?? all, timeMs, transactionId, count + 1]
    const rows = await this.#connection.read<SaleRow>(this.#statements.list, values)
    const sales = rows.slice(0, count).map(saleOf)
    return { sales, next: rows.length > count ? cursorOf(sales.at(-1)!) : undefined }
  }

  async revenue({ sinceDay = earlier }: { sinceDay?: number | undefined }): Promise<readonly Revenue[]> {
    return (await this.#connection.read<RevenueRow>(this.#statements.revenue, [sinceDay])).map(revenueOf)
  }

  async open(which: 'due' | 'undecided', beforeMs: number, limit: number, after?: string): Promise<readonly Sale[]> {
    const { timeMs, transactionId } = parseCursor(after ?? '') ?? { timeMs: -1, transactionId: '' }
    const values = [beforeMs, timeMs, transactionId, pageLimit(limit)]
    return (await this.#connection.read<SaleRow>(this.#statements[which], values)).map(saleOf)
  }

  async delivered(transactionIds: readonly string[]): Promise<void> {
    await this.#connection.read(this.#statements.delivered, [transactionIds])
  }

  /** Stops the deletion of old sales after its current batch. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#cleaning
  }

  /** Runs in parallel with recording, in small transactions. */
  #clean(nowMs: number): void {
    this.#cleaning ??= this.#cleanAll(dayOf(nowMs) - keepDays)
      // The next run deletes them.
      .catch(() => {})
      .finally(() => {
        this.#cleaning = undefined
      })
  }

  async #cleanAll(oldestDay: number): Promise<void> {
    const values = [this.#maxSales, maxFailures, oldestDay, cleanBatch]
    for (let batches = 0; batches < maxBatches && !this.#isClosed; batches++) {
      const [row] = await this.#connection.read<{ n: number }>(this.#statements.clean, values)
      if (row!.n < cleanBatch) return
    }
  }
}

/** Characters that PostgreSQL cannot store in text, but a facilitator may send in its codes. */
const unstorable = /\p{Surrogate}|\0/gu

/** A sale as JSON for the database functions. */
export function saleJson(sale: Sale): string {
  return JSON.stringify(sale, (_, value) => (typeof value === 'string' ? value.replace(unstorable, '\ufffd') : value))
}

function statementsOf(schema: string) {
  const open = (which: string): string =>
    `SELECT * FROM ${schema}.sales WHERE ${which} AND time_ms < $1 AND (time_ms, transaction_id COLLATE "C") > ($2, $3)
       ORDER BY time_ms, transaction_id COLLATE "C" LIMIT $4`
  return {
    record: { name: 'latchkey_sales_record', text: `SELECT ${schema}.record_sales($1::jsonb)` },
    list: {
      name: 'latchkey_sales_list',
      text: `SELECT * FROM ${schema}.sales WHERE time_ms >= $1 AND time_ms < $2 AND outcome = ANY ($3)
        AND (time_ms, transaction_id COLLATE "C") < ($4, $5) ORDER BY time_ms DESC, transaction_id COLLATE "C" DESC LIMIT $6`,
    },
    revenue: {
      name: 'latchkey_sales_revenue',
      text: `SELECT * FROM ${schema}.revenue WHERE day >= $1
        ORDER BY day DESC, route COLLATE "C", network COLLATE "C", asset COLLATE "C"`,
    },
    due: { name: 'latchkey_sales_due', text: open(`is_due AND outcome = 'settled'`) },
    undecided: { name: 'latchkey_sales_undecided', text: open(`outcome IN ('verified', 'pending')`) },
    delivered: {
      name: 'latchkey_sales_delivered',
      text: `UPDATE ${schema}.sales SET is_due = false WHERE transaction_id IN
        (SELECT transaction_id FROM ${schema}.sales WHERE transaction_id = ANY ($1) ORDER BY transaction_id COLLATE "C" FOR UPDATE)`,
    },
    clean: { name: 'latchkey_sales_clean', text: `SELECT ${schema}.clean_sales($1, $2, $3, $4) AS n` },
  }
}
