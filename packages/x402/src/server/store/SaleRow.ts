/** Sales and their totals, as rows of the database tables. */
import type { Revenue, Sale } from './Sales.js'

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
