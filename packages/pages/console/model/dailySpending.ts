/** Computes an agent's spending per day from the audit log. */
import type { AuditRecord } from '../audit.js'

export type DayBucket = { fromMs: number; amount: bigint }
export type DailySpending = { network: string; assetId: string; total: bigint; days: readonly DayBucket[] }

export const dayCount = 30

/** The start of the first day in the person's time zone. */
export function firstDayMs(nowMs: number): number {
  return dayStarts(nowMs)[0]!
}

/**
 * Spending by asset, with dollars and other assets before ALGO. A transaction counts once, and not if its amount was
 * released.
 */
export function dailySpending(records: readonly AuditRecord[], nowMs: number): DailySpending[] {
  const starts = dayStarts(nowMs)
  const returned = new Set(
    records.filter(({ event }) => event === 'reservation_returned').map(({ transaction }) => transaction),
  )
  const counted = new Set<string>()
  const byAsset = new Map<string, { network: string; assetId: string; amounts: bigint[] }>()
  const add = (record: AuditRecord, assetId: string, units: string): void => {
    const amount = /^\d{1,20}$/.test(units) ? BigInt(units) : 0n
    const day = starts.findLastIndex((start) => start <= record.atMs)
    if (amount === 0n || day < 0) return
    const network = text(record, 'network')
    const key = `${network} ${assetId}`
    const asset = byAsset.get(key) ?? { network, assetId, amounts: starts.map(() => 0n) }
    asset.amounts[day]! += amount
    byAsset.set(key, asset)
  }
  // Oldest first: the first signature is the payment.
  for (const record of records.toReversed()) {
    const { event, transaction } = record
    if (event !== 'transaction_signed' || returned.has(transaction) || counted.has(transaction)) continue
    counted.add(transaction)
    if (text(record, 'kind') === 'payment') add(record, text(record, 'asset'), text(record, 'amount'))
    add(record, '0', text(record, 'fee'))
  }
  return [...byAsset.values()]
    .map(({ network, assetId, amounts }) => ({
      ...{ network, assetId, total: amounts.reduce((sum, amount) => sum + amount, 0n) },
      days: amounts.map((amount, index) => ({ fromMs: starts[index]!, amount })),
    }))
    .sort((a, b) => Number(a.assetId === '0') - Number(b.assetId === '0'))
}

function dayStarts(nowMs: number): number[] {
  const now = new Date(nowMs)
  return Array.from({ length: dayCount }, (_, index) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - (dayCount - 1 - index)).getTime(),
  )
}

function text({ detail }: AuditRecord, name: string): string {
  const value = detail[name]
  return typeof value === 'string' ? value : ''
}
