/** Computes spending per day and per payee from the audit log. */
import type { AuditRecord } from '../audit.js'

export type DayBucket = { fromMs: number; amount: bigint }
export type PayeeTotal = { address: string; amount: bigint; count: number }
export type DailySpending = {
  network: string
  assetId: string
  total: bigint
  days: readonly DayBucket[]
  /** Payments without their fees, the largest sum first. */
  payees: readonly PayeeTotal[]
}

export const dayCount = 30

/** The events that {@link dailySpending} counts. */
export const spendingEvents: readonly string[] = [
  'transaction_signed',
  'multisig_signed',
  'authorization_signed',
  'authorization_settled',
  'reservation_returned',
]

/** These change what an earlier signature counts. */
const outcomes: readonly string[] = ['authorization_settled', 'reservation_returned']

/** The start of the first day in the person's time zone. */
export function firstDayMs(nowMs: number): number {
  return dayStarts(nowMs)[0]!
}

type Spent = { network: string; assetId: string; amount: bigint; payee: string }

/**
 * Spending by asset, with dollars and other assets before ALGO. A transaction counts once, and not if its amount was
 * released; an authorization for a price by usage counts with its charge. Records of the owner's signatures name no network: `network` is the one of the daemon's node.
 */
export function dailySpending(records: readonly AuditRecord[], nowMs: number, network = ''): DailySpending[] {
  const starts = dayStarts(nowMs)
  const returned = new Set(
    records.filter(({ event }) => event === 'reservation_returned').map(({ transaction }) => transaction),
  )
  const charged = new Map(
    records
      .filter(({ event }) => event === 'authorization_settled')
      .map((record) => [record.transaction, units(text(record, 'amount'))]),
  )
  const counted = new Set<string>()
  const byAsset = new Map<string, AssetSums>()
  const add = (day: number, spent: Spent): void => {
    const key = `${spent.network} ${spent.assetId}`
    const asset = byAsset.get(key) ?? new AssetSums(spent, starts.length)
    asset.add(day, spent)
    byAsset.set(key, asset)
  }
  // Oldest first: the first signature is the payment.
  for (const record of records.toReversed()) {
    const { event, transaction } = record
    if (outcomes.includes(event) || !spendingEvents.includes(event)) continue
    if (transaction === '' || returned.has(transaction) || counted.has(transaction)) continue
    counted.add(transaction)
    const day = starts.findLastIndex((start) => start <= record.atMs)
    if (day < 0) continue
    for (const spent of spentIn(record, network)) {
      // An authorization counts with its maximum until its charge is known.
      const charge = event === 'authorization_signed' && spent.payee !== '' ? charged.get(transaction) : undefined
      if ((charge ?? spent.amount) > 0n) add(day, { ...spent, amount: charge ?? spent.amount })
    }
  }
  return [...byAsset.values()]
    .map((asset) => asset.toSpending(starts))
    .sort((a, b) => Number(a.assetId === '0') - Number(b.assetId === '0'))
}

/** The sums of one asset. */
class AssetSums {
  readonly #network: string
  readonly #assetId: string
  readonly #amounts: bigint[]
  readonly #payees = new Map<string, PayeeTotal>()

  constructor({ network, assetId }: Spent, days: number) {
    this.#network = network
    this.#assetId = assetId
    this.#amounts = Array.from({ length: days }, () => 0n)
  }

  add(day: number, { amount, payee }: Spent): void {
    this.#amounts[day]! += amount
    if (payee === '') return
    const before = this.#payees.get(payee) ?? { address: payee, amount: 0n, count: 0 }
    this.#payees.set(payee, { address: payee, amount: before.amount + amount, count: before.count + 1 })
  }

  toSpending(starts: readonly number[]): DailySpending {
    return {
      network: this.#network,
      assetId: this.#assetId,
      total: this.#amounts.reduce((sum, amount) => sum + amount, 0n),
      days: this.#amounts.map((amount, index) => ({ fromMs: starts[index]!, amount })),
      payees: [...this.#payees.values()].sort((a, b) => (a.amount === b.amount ? 0 : a.amount > b.amount ? -1 : 1)),
    }
  }
}

/** The payment of a record and its fee. Records of agents and of the owner have different members. */
function spentIn(record: AuditRecord, ownNetwork: string): Spent[] {
  const network = text(record, 'network') || ownNetwork
  const payee = text(record, 'payee') || text(record, 'receiver')
  const isPayment = text(record, 'kind') === 'payment' || ['pay', 'axfer'].includes(text(record, 'type'))
  const isToSelf = payee !== '' && payee === text(record, 'sender')
  const assetId = text(record, 'asset') || text(record, 'asset_id') || '0'
  const fee = units(text(record, 'fee') || text(record, 'fee_micro_algos'))
  return [
    ...(isPayment && !isToSelf ? [{ network, assetId, amount: units(text(record, 'amount')), payee }] : []),
    { network, assetId: '0', amount: fee, payee: '' },
  ]
}

function units(digits: string): bigint {
  return /^\d{1,20}$/.test(digits) ? BigInt(digits) : 0n
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
