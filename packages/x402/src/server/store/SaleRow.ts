/** Sales and their totals, as rows of the database tables. */
import {
  allOutcomes,
  cursorOf,
  pageLimit,
  parseCursor,
  type Revenue,
  type Sale,
  type SaleOutcome,
  type SalePage,
  type SalePosition,
  type SaleQuery,
} from './Sales.js'

/** Databases return integers as numbers, as big integers, or as text. */
type Whole = number | bigint | string

/** A row of the sales table. */
export type SaleRow = {
  transaction_id: string
  time_ms: Whole
  outcome: Sale['outcome']
  code: string
  route: string
  method: string
  path: string
  payer: string
  pay_to: string
  amount: string
  asset: string
  asset_name: string
  decimals: Whole | null
  network: string
  round: Whole | null
  first_valid: Whole
  last_valid: Whole
  is_due: number | bigint | boolean
}

export function saleOf(row: SaleRow): Sale {
  const { outcome, code, route, method, path, payer, amount, asset, network } = row
  return {
    transactionId: row.transaction_id,
    timeMs: Number(row.time_ms),
    outcome,
    code,
    route,
    method,
    path,
    payer,
    payTo: row.pay_to,
    amount,
    asset,
    assetName: row.asset_name,
    decimals: row.decimals === null ? undefined : Number(row.decimals),
    network,
    round: row.round === null ? undefined : Number(row.round),
    firstValid: Number(row.first_valid),
    lastValid: Number(row.last_valid),
    isDue: Number(row.is_due) === 1,
  }
}

/** The values of a query for a page of sales: the time, the outcomes, the position that it starts after, and a limit. */
export type PageBounds = {
  readonly sinceMs: number
  readonly untilMs: number
  readonly outcomes: readonly SaleOutcome[]
  readonly timeMs: number
  readonly transactionId: string
  /** One more row than a page has, to learn whether there is a next page. */
  readonly rows: number
}

export function pageBounds({ outcomes = allOutcomes, sinceMs = 0, untilMs, after, limit }: SaleQuery): PageBounds {
  const last = Number.MAX_SAFE_INTEGER
  const position = after === undefined ? { timeMs: last, transactionId: '' } : parseCursor(after)
  return { sinceMs, untilMs: untilMs ?? last, outcomes, ...position, rows: pageLimit(limit) + 1 }
}

/** The page of the rows that were found within {@link pageBounds}. */
export function pageOf(found: readonly SaleRow[], { rows }: PageBounds): SalePage {
  const sales = found.slice(0, rows - 1).map(saleOf)
  return { sales, next: found.length < rows ? undefined : cursorOf(sales.at(-1)!) }
}

/** The position before every open sale. */
export const beforeAll: SalePosition = { timeMs: -1, transactionId: '' }

/** A row of the revenue table. */
export type RevenueRow = {
  day: Whole
  route: string
  network: string
  asset: string
  asset_name: string
  decimals: Whole | null
  settled: Whole
  amount: string
  failed: Whole
}

export function revenueOf({
  day,
  route,
  network,
  asset,
  asset_name,
  decimals,
  settled,
  amount,
  failed,
}: RevenueRow): Revenue {
  return {
    day: Number(day),
    route,
    network,
    asset,
    assetName: asset_name,
    decimals: decimals === null ? undefined : Number(decimals),
    settled: Number(settled),
    amount,
    failed: Number(failed),
  }
}
