import { currentState } from '../../../db/postgres/Migrations.js'
import { PostgresConnection, type PostgresOptions } from '../../../db/postgres/PostgresConnection.js'
import { StoreError } from '../../../db/StoreError.js'
import { beforeAll, pageBounds, pageOf, type RevenueRow, revenueOf, type SaleRow, saleOf } from '../SaleRow.js'
import {
  dayOf,
  earlier,
  keepDays,
  pageLimit,
  type Revenue,
  type Sale,
  type SalePage,
  type SaleQuery,
  type SaleStore,
} from '../Sales.js'
import { sellerMigrations } from './sellerMigrations.js'

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

  async list(query: SaleQuery): Promise<SalePage> {
    const bounds = pageBounds(query)
    const { sinceMs, untilMs, outcomes, timeMs, transactionId, rows } = bounds
    const values = [sinceMs, untilMs, outcomes, timeMs, transactionId, rows]
    return pageOf(await this.#connection.read<SaleRow>(this.#statements.list, values), bounds)
  }

  async revenue({ sinceDay = earlier }: { sinceDay?: number | undefined }): Promise<readonly Revenue[]> {
    return (await this.#connection.read<RevenueRow>(this.#statements.revenue, [sinceDay])).map(revenueOf)
  }

  async open(which: 'due' | 'undecided', beforeMs: number, limit: number, after = beforeAll): Promise<readonly Sale[]> {
    const { timeMs, transactionId } = after
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

/** The sales in a database, and a function that closes it. */
export type OpenPostgresSales = { readonly sales: SaleStore; readonly close: () => Promise<void> }

/**
 * Opens the sales in a database of `PostgresClaims` for reading while the shop runs. Creates and migrates nothing, and
 * the server refuses changes.
 *
 * @throws StoreError for a database that cannot be used, or has no sales
 */
export async function openPostgresSales(options: PostgresOptions = {}): Promise<OpenPostgresSales> {
  const connection = await PostgresConnection.open({ maxConnections: 1, ...options })
  try {
    const { version } = await currentState(connection, sellerMigrations)
    if (version === 0) {
      const hint = 'Pass the address that the seller passes to PostgresClaims, with a role that may read its schema.'
      const message = `schema ${connection.schema} of ${connection.server} has no sales table that this role can read`
      throw new StoreError('store_failed', message, { hint })
    }
    await connection.read({ name: 'latchkey_read_only', text: 'SET default_transaction_read_only = on' })
  } catch (error) {
    await connection.close()
    throw error
  }
  return { sales: new PostgresSales(connection), close: () => connection.close() }
}
