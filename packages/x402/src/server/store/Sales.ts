/** A seller's sales: each payment with its outcome, exact totals by day and route, and the log that records them. */
import { Bytes } from '@latchkey/algorand'
import { PartyError } from '../../errors.js'

/**
 * The outcome of a payment. `verified`: being served, or left by a process that ended. `pending`: waits for the ledger.
 * `settled`: on the ledger. `refused`: opened nothing. `cancelled`: not charged, because the handler failed or the
 * payment was never submitted. `unknown`: left by a process that ended, and nodes no longer know its outcome.
 */
export type SaleOutcome = 'verified' | 'pending' | 'settled' | 'refused' | 'cancelled' | 'unknown'

/** The record of a payment to a seller. */
export type Sale = {
  readonly transactionId: string
  /** When the payment got its outcome, in milliseconds since 1970. */
  readonly timeMs: number
  readonly outcome: SaleOutcome
  /** The reason for a refusal; otherwise empty. */
  readonly code: string
  /** The key of the route, such as `GET /weather`. */
  readonly route: string
  readonly method: string
  /** The path that the client sent, without its query. */
  readonly path: string
  readonly payer: string
  readonly payTo: string
  /** The exact amount in base units. */
  readonly amount: string
  /** The id of the asset; `0` is ALGO. */
  readonly asset: string
  readonly assetName: string
  readonly decimals: number | undefined
  /** The canonical CAIP-2 id. */
  readonly network: string
  readonly round: number | undefined
  /** No earlier round can have the payment: its first valid round, or the round in which an authorization was claimed. */
  readonly firstValid: number
  readonly lastValid: number
  /** Whether a hook must still be called with the settlement, now or when it happens. */
  readonly isDue: boolean
}

/** The position of a sale among the others, which are ordered by time and then by id. */
export type SalePosition = Pick<Sale, 'timeMs' | 'transactionId'>

/** The query of {@link SaleStore.list}. */
export type SaleQuery = {
  /** @default all */
  readonly outcomes?: readonly SaleOutcome[] | undefined
  /** Includes only sales that got their outcome at this time or later. */
  readonly sinceMs?: number | undefined
  /** Includes only sales that got their outcome before this time. */
  readonly untilMs?: number | undefined
  /** `next` of the previous page. The store throws a {@link SalesError} for any other text. */
  readonly after?: string | undefined
  /** At most 1,000. */
  readonly limit: number
}

/** Sales, the latest first. */
export type SalePage = {
  readonly sales: readonly Sale[]
  /** Where the next page begins; undefined for the last page. */
  readonly next: string | undefined
}

/** The revenue of a route on a day in an asset. */
export type Revenue = {
  /** Days since 1970, in UTC; {@link earlier} for all days that are no longer kept separately. */
  readonly day: number
  readonly route: string
  readonly network: string
  readonly asset: string
  readonly assetName: string
  readonly decimals: number | undefined
  /** How many payments were settled. */
  readonly settled: number
  /** The total of the settled payments, in base units. */
  readonly amount: string
  /** How many payments were refused or cancelled. */
  readonly failed: number
}

/**
 * A store of sales. `MemoryClaims` and `SqliteClaims` have one as `sales`. A claim store on another database may have
 * one too, with {@link nextSale} for the decision. Totals include deleted sales. A sale is not deleted while its
 * payment is claimed, because a repeated payment would be counted again.
 */
export type SaleStore = {
  /** Records all outcomes or none. */
  readonly record: (sales: readonly Sale[]) => Promise<void> | void
  readonly list: (query: SaleQuery) => Promise<SalePage> | SalePage
  /** The totals from a day on, the latest day first. Includes those of {@link earlier} if `sinceDay` is not set. */
  readonly revenue: (query: {
    readonly sinceDay?: number | undefined
  }) => Promise<readonly Revenue[]> | readonly Revenue[]
  /**
   * Settled sales that were not reported to a hook, or undecided ones, older than a time; the oldest first. `after` is
   * the last sale to skip.
   */
  readonly open: (
    which: 'due' | 'undecided',
    beforeMs: number,
    limit: number,
    after?: SalePosition | undefined,
  ) => Promise<readonly Sale[]> | readonly Sale[]
  /** Records that hooks were called. */
  readonly delivered: (transactionIds: readonly string[]) => Promise<void> | void
}

/** The day of {@link Revenue} that stands for all earlier days. */
export const earlier = -1
export const allOutcomes: readonly SaleOutcome[] = ['verified', 'pending', 'settled', 'refused', 'cancelled', 'unknown']
/** The maximum number of sales on one page. */
export const maxPage = 1_000
/** How many days are kept separately. */
export const keepDays = 1_100
const dayMs = 86_400_000

export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / dayMs)
}

export function isFailure(outcome: SaleOutcome): boolean {
  return outcome === 'refused' || outcome === 'cancelled'
}

/** A sale to store, and whether it is counted. */
export type NextSale = { readonly sale: Sale; readonly counts: 'settled' | 'failed' | undefined }

/** The next state of a sale; undefined if it does not change. A settled sale stays settled, and is counted once. */
export function nextSale(known: Sale | undefined, given: Sale): NextSale | undefined {
  // A later claim knows a later round than the first one, which may have settled the payment.
  const firstValid = Math.min(known?.firstValid ?? given.firstValid, given.firstValid)
  const sale = { ...given, firstValid }
  if (known?.outcome === 'settled') {
    if (sale.outcome !== 'settled' || known.round !== undefined || sale.round === undefined) return undefined
    return { sale: { ...known, round: sale.round }, counts: undefined }
  }
  if (sale.outcome === 'settled') return { sale, counts: 'settled' }
  // Another client that sends the payment of a request being served does not end that request.
  const isServed = known?.outcome === 'verified' || known?.outcome === 'pending'
  if (isServed && sale.code === 'payment_already_used') return undefined
  const wasCounted = known !== undefined && (isFailure(known.outcome) || known.code !== '')
  // The code stays while the request is served again, so that a payment counts as one failure, no matter how often it
  // fails.
  if (!isFailure(sale.outcome)) return { sale: { ...sale, code: known?.code ?? '' }, counts: undefined }
  const code = sale.code === '' ? 'handler_failed' : sale.code
  return { sale: { ...sale, code }, counts: wasCounted ? undefined : 'failed' }
}

/** The revenue that the next state of a sale adds; undefined if it is not counted. */
export function addedRevenue({ sale, counts }: NextSale): Revenue | undefined {
  if (counts === undefined) return undefined
  const { timeMs, route, network, asset, assetName, decimals, amount } = sale
  const [settled, failed] = counts === 'settled' ? [1, 0] : [0, 1]
  const paid = settled === 1 ? amount : '0'
  return { day: dayOf(timeMs), route, network, asset, assetName, decimals, settled, amount: paid, failed }
}

/** The position of a sale, as text for {@link SalePage.next}. */
export function cursorOf({ timeMs, transactionId }: SalePosition): string {
  return Bytes.toBase64Url(Bytes.fromUtf8(`${timeMs}.${transactionId}`))
}

const maxCursorLength = 1_000

/**
 * Parses the result of {@link cursorOf}. Other text is never the first page: a client that follows cursors would read the
 * same page without end.
 *
 * @throws SalesError
 */
export function parseCursor(text: string): SalePosition {
  const bytes = text.length <= maxCursorLength ? Bytes.fromBase64Url(text) : undefined
  const [, timeMs, transactionId] = /^([0-9]{1,16})\.(.+)$/s.exec(bytes ? new TextDecoder().decode(bytes) : '') ?? []
  const position = transactionId === undefined ? undefined : { timeMs: Number(timeMs), transactionId }
  // One position has one text.
  if (position !== undefined && cursorOf(position) === text) return position
  throw new SalesError('invalid_sales_cursor', 'the text is not a cursor of this list')
}

/** Limits a page size to the supported range. */
export function pageLimit(limit: number): number {
  return Math.max(1, Math.min(Number.isInteger(limit) ? limit : maxPage, maxPage))
}

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
      const added = addedRevenue(next)
      if (added !== undefined) this.#count(added)
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

  open(which: 'due' | 'undecided', beforeMs: number, limit: number, after?: SalePosition): readonly Sale[] {
    const isOpen = ({ outcome, isDue }: Sale): boolean =>
      which === 'due' ? isDue && outcome === 'settled' : outcome === 'verified' || outcome === 'pending'
    const found = [...this.#sales.values()].filter((sale) => sale.timeMs < beforeMs && isOpen(sale))
    return found
      .sort(compare)
      .filter((sale) => after === undefined || compare(sale, after) > 0)
      .slice(0, pageLimit(limit))
  }

  delivered(transactionIds: readonly string[]): void {
    for (const id of transactionIds) {
      const sale = this.#sales.get(id)
      if (sale !== undefined) this.#sales.set(id, { ...sale, isDue: false })
    }
  }

  #count(added: Revenue): void {
    this.#add(added)
    const cut = added.day - keepDays
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

function compare(a: SalePosition, b: SalePosition): number {
  return a.timeMs - b.timeMs || (a.transactionId < b.transactionId ? -1 : a.transactionId > b.transactionId ? 1 : 0)
}

/** Lets concurrent outcomes share a write. */
const batchMs = 20
const maxBatch = 500
const maxQueued = 20_000
/** Anyone can cause failures, so they may use only a tenth of the queue. */
const maxQueuedFailures = 2_000
const firstWaitMs = 500
const maxWaitMs = 30_000
const reportEveryMs = 60_000

/**
 * Records the sales of a gate in parallel with the response. Writes many outcomes at once, and retries if the store
 * fails.
 */
export class SalesLog {
  readonly #store: SaleStore | undefined
  readonly #onError: (error: unknown) => void
  readonly #sales: Sale[] = []
  readonly #delivered: string[] = []
  #failures = 0
  #dropped = 0
  #reportedMs = Number.NEGATIVE_INFINITY
  #waitMs = batchMs
  #timer: ReturnType<typeof setTimeout> | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(store: SaleStore | undefined, onError: (error: unknown) => void) {
    this.#store = store
    this.#onError = onError
  }

  /** Queues an outcome. Never throws. */
  add(sale: Sale): void {
    if (this.#store === undefined) return
    const isTooMany = isFailure(sale.outcome) && this.#failures >= maxQueuedFailures
    if (isTooMany || this.#sales.length >= maxQueued) {
      this.#dropped++
      return
    }
    if (isFailure(sale.outcome)) this.#failures++
    this.#sales.push(sale)
    this.#schedule()
  }

  /** Records that a settlement was reported to a hook. */
  delivered(transactionId: string): void {
    if (this.#store === undefined || this.#delivered.length >= maxQueued) return
    this.#delivered.push(transactionId)
    this.#schedule()
  }

  /**
   * Writes the queued outcomes if the store accepts them. Outcomes that cannot be written are reported to `onError`.
   */
  async close(timeoutMs: number): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const endMs = performance.now() + timeoutMs
    let timer: ReturnType<typeof setTimeout> | undefined
    const timeUp = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs)
    })
    while (this.#sales.length + this.#delivered.length > 0 && performance.now() < endMs) {
      const before = this.#sales.length + this.#delivered.length
      await Promise.race([this.#write(), timeUp])
      if (this.#sales.length + this.#delivered.length >= before) break
    }
    clearTimeout(timer)
    clearTimeout(this.#timer)
    if (this.#sales.length > 0) this.#report(`could not record ${outcomes(this.#sales.length)}`)
  }

  #schedule(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#write()
    }, this.#waitMs)
    // A first write keeps the process running. A retry for a failing store does not.
    if (this.#waitMs !== batchMs) this.#timer.unref?.()
  }

  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeBatch())
    return this.#writing
  }

  async #writeBatch(): Promise<void> {
    const sales = this.#sales.slice(0, maxBatch)
    const delivered = this.#delivered.slice(0, maxBatch)
    try {
      if (sales.length > 0) await this.#store?.record(sales)
      this.#sales.splice(0, sales.length)
      this.#failures -= sales.filter(({ outcome }) => isFailure(outcome)).length
      if (delivered.length > 0) await this.#store?.delivered(delivered)
      this.#delivered.splice(0, delivered.length)
      this.#waitMs = batchMs
    } catch (error) {
      this.#reportNow(error)
      this.#waitMs = Math.min(Math.max(firstWaitMs, this.#waitMs * 2), maxWaitMs)
    }
    if (this.#dropped > 0) {
      this.#reportNow(new SalesError('sales_not_recorded', `dropped ${outcomes(this.#dropped)} without recording`))
    }
    if (this.#sales.length + this.#delivered.length > 0) this.#schedule()
  }

  /** A full disk must not fill the log too. */
  #reportNow(error: unknown): void {
    if (performance.now() < this.#reportedMs + reportEveryMs) return
    this.#reportedMs = performance.now()
    this.#dropped = 0
    this.#tell(error)
  }

  #report(message: string): void {
    this.#tell(new SalesError('sales_not_recorded', message))
  }

  #tell(error: unknown): void {
    try {
      this.#onError(error)
    } catch {
      // A reporter that throws must not end the process.
    }
  }
}

function outcomes(count: number): string {
  return count === 1 ? '1 payment outcome' : `${count} payment outcomes`
}

/** Outcomes of payments that are not in the store, passed to `onError`; or a list of sales that cannot be continued. */
export class SalesError extends PartyError<'sales_not_recorded' | 'invalid_sales_cursor'> {
  override name = 'SalesError'
}
