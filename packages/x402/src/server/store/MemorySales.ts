import {
  cursorOf,
  dayOf,
  earlier,
  isFailure,
  keepDays,
  type NextSale,
  nextSale,
  pageLimit,
  parseCursor,
  type Revenue,
  type Sale,
  type SalePage,
  type SaleQuery,
  type SaleStore,
} from './Sales.js'

const defaultMaxSales = 10_000
const maxFailures = 1_000
/** How many sales that cannot be deleted yet are skipped. */
const maxSkipped = 100

/** Sales in memory, while the process runs. */
export class MemorySales implements SaleStore {
  readonly #sales = new Map<string, Sale>()
  readonly #revenue = new Map<string, Revenue>()
  /** The ids of refused and cancelled sales, the oldest first. */
  readonly #failed = new Set<string>()
  readonly #maxSales: number
  readonly #isClaimed: (transactionId: string) => boolean

  /** @param isClaimed whether a payment can still be sent again */
  constructor(maxSales = defaultMaxSales, isClaimed: (transactionId: string) => boolean = () => false) {
    this.#maxSales = maxSales
    this.#isClaimed = isClaimed
  }

  record(sales: readonly Sale[]): void {
    for (const sale of sales) {
      const known = this.#sales.get(sale.transactionId)
      const next = nextSale(known, sale)
      if (next === undefined) continue
      this.#delete(sale.transactionId)
      if (isFailure(next.sale.outcome)) this.#failed.add(sale.transactionId)
      this.#sales.set(sale.transactionId, next.sale)
      this.#count(next)
    }
    this.#clean()
  }

  list({ outcomes, sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, after, limit }: SaleQuery): SalePage {
    const cursor = after === undefined ? undefined : parseCursor(after)
    const found = [...this.#sales.values()]
      .filter(({ outcome, timeMs }) => timeMs >= sinceMs && timeMs < untilMs && (outcomes?.includes(outcome) ?? true))
      .sort((a, b) => compare(b, a))
      .filter((sale) => cursor === undefined || compare(sale, cursor) < 0)
    const sales = found.slice(0, pageLimit(limit))
    return { sales, next: found.length > sales.length ? cursorOf(sales.at(-1)!) : undefined }
  }

  revenue({ sinceDay = earlier }: { sinceDay?: number | undefined }): readonly Revenue[] {
    return [...this.#revenue.values()].filter(({ day }) => day >= sinceDay).sort((a, b) => b.day - a.day)
  }

  open(which: 'due' | 'undecided', beforeMs: number, limit: number, after?: string): readonly Sale[] {
    const isOpen = ({ outcome, isDue }: Sale): boolean =>
      which === 'due' ? isDue && outcome === 'settled' : outcome === 'verified' || outcome === 'pending'
    const cursor = parseCursor(after ?? '')
    const found = [...this.#sales.values()].filter((sale) => sale.timeMs < beforeMs && isOpen(sale))
    return found
      .sort(compare)
      .filter((sale) => cursor === undefined || compare(sale, cursor) > 0)
      .slice(0, pageLimit(limit))
  }

  delivered(transactionIds: readonly string[]): void {
    for (const id of transactionIds) {
      const sale = this.#sales.get(id)
      if (sale !== undefined) this.#sales.set(id, { ...sale, isDue: false })
    }
  }

  #count({ sale, counts }: NextSale): void {
    if (counts === undefined) return
    this.#add({
      ...sale,
      day: dayOf(sale.timeMs),
      settled: counts === 'settled' ? 1 : 0,
      amount: counts === 'settled' ? sale.amount : '0',
      failed: counts === 'failed' ? 1 : 0,
    })
    const cut = dayOf(sale.timeMs) - keepDays
    for (const [key, row] of this.#revenue) {
      if (row.day === earlier || row.day >= cut) continue
      this.#revenue.delete(key)
      this.#add({ ...row, day: earlier })
    }
  }

  #add({ day, route, network, asset, assetName, decimals, settled, amount, failed }: Revenue): void {
    const key = JSON.stringify([day, route, network, asset])
    const known = this.#revenue.get(key)
    this.#revenue.set(key, {
      day,
      route,
      network,
      asset,
      assetName: decimals === undefined ? (known?.assetName ?? assetName) : assetName,
      decimals: decimals ?? known?.decimals,
      settled: settled + (known?.settled ?? 0),
      amount: (BigInt(amount) + BigInt(known?.amount ?? 0)).toString(),
      failed: failed + (known?.failed ?? 0),
    })
  }

  /** Anyone can cause failures, which must not displace payments. */
  #clean(): void {
    for (const id of this.#failed) {
      if (this.#failed.size <= maxFailures) break
      this.#delete(id)
    }
    let skipped = 0
    for (const id of this.#sales.keys()) {
      if (this.#sales.size <= this.#maxSales || skipped === maxSkipped) break
      // A repeated payment must find that it was counted. If there are too many, claimed ones are deleted too, to limit
      // memory.
      if (this.#sales.size <= 2 * this.#maxSales && this.#isClaimed(id)) skipped++
      else this.#delete(id)
    }
  }

  #delete(id: string): void {
    this.#sales.delete(id)
    this.#failed.delete(id)
  }
}

function compare(a: Pick<Sale, 'timeMs' | 'transactionId'>, b: Pick<Sale, 'timeMs' | 'transactionId'>): number {
  return a.timeMs - b.timeMs || (a.transactionId < b.transactionId ? -1 : a.transactionId > b.transactionId ? 1 : 0)
}
