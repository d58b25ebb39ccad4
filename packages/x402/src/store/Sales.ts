/** What a seller sold: each payment with its outcome, and exact sums by day and route. */

/**
 * How a payment ended: `verified` is being served, or was left by a process that ended; `pending` waits for the ledger;
 * `settled` is on it; `refused` opened nothing; `cancelled` was not charged, because the handler failed, or it was never
 * submitted; `unknown` was left by a process that ended, and nodes no longer tell what became of it.
 */
export type SaleOutcome = 'verified' | 'pending' | 'settled' | 'refused' | 'cancelled' | 'unknown'

/** A payment to a seller, as it is recorded. */
export type Sale = {
  readonly transactionId: string
  /** When it got its outcome, in milliseconds since 1970. */
  readonly timeMs: number
  readonly outcome: SaleOutcome
  /** Why it was refused; empty otherwise. */
  readonly code: string
  /** The key of the route, like `GET /weather`. */
  readonly route: string
  readonly method: string
  /** The path that the client sent, without its query. */
  readonly path: string
  readonly payer: string
  readonly payTo: string
  /** Base units, exactly. */
  readonly amount: string
  /** The id of the asset; `0` is ALGO. */
  readonly asset: string
  readonly assetName: string
  readonly decimals: number | undefined
  /** The canonical CAIP-2 id. */
  readonly network: string
  readonly round: number | undefined
  readonly firstValid: number
  readonly lastValid: number
  /** Whether a hook has yet to be told that it was settled, or is to be told once it is. */
  readonly isDue: boolean
}

/** Which sales {@link SaleStore.list} returns. */
export type SaleQuery = {
  /** @default all */
  readonly outcomes?: readonly SaleOutcome[] | undefined
  /** Only those that got their outcome at this time or later. */
  readonly sinceMs?: number | undefined
  /** Only those that got their outcome before this time. */
  readonly untilMs?: number | undefined
  /** `next` of the page before. */
  readonly after?: string | undefined
  /** At most 1,000. */
  readonly limit: number
}

/** Sales, the latest first. */
export type SalePage = {
  readonly sales: readonly Sale[]
  /** Where the next page begins; undefined with the last one. */
  readonly next: string | undefined
}

/** What a route earned on a day in an asset. */
export type Revenue = {
  /** Days since 1970, in UTC; {@link earlier} for all days that are no longer kept apart. */
  readonly day: number
  readonly route: string
  readonly network: string
  readonly asset: string
  readonly assetName: string
  readonly decimals: number | undefined
  /** How many payments were settled. */
  readonly settled: number
  /** The sum of them, in base units. */
  readonly amount: string
  /** How many payments were refused or cancelled. */
  readonly failed: number
}

/**
 * A store of sales. `MemoryClaims` and `SqliteClaims` have one as `sales`; a store of claims on another database may have
 * one, too, with {@link nextSale} for the decision. Sums count what was deleted since; a sale is not deleted while its
 * payment is claimed, since one that is sent again would be counted again.
 */
export type SaleStore = {
  /** Records outcomes, all of them or none. */
  readonly record: (sales: readonly Sale[]) => Promise<void> | void
  readonly list: (query: SaleQuery) => Promise<SalePage> | SalePage
  /** The sums from a day on, those of {@link earlier} included if `sinceDay` is not set; the latest day first. */
  readonly revenue: (query: {
    readonly sinceDay?: number | undefined
  }) => Promise<readonly Revenue[]> | readonly Revenue[]
  /**
   * Settled sales that no hook was told of, or undecided ones, older than a time; the oldest first. `after` is
   * {@link cursorOf} the last one that is not wanted.
   */
  readonly open: (
    which: 'due' | 'undecided',
    beforeMs: number,
    limit: number,
    after?: string | undefined,
  ) => Promise<readonly Sale[]> | readonly Sale[]
  /** Notes that hooks were told. */
  readonly delivered: (transactionIds: readonly string[]) => Promise<void> | void
}

/** The day of {@link Revenue} that stands for all that came before those that are kept. */
export const earlier = -1
/** The most sales of one page. */
export const maxPage = 1_000
/** How many days are kept apart. */
export const keepDays = 1_100
const dayMs = 86_400_000

export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / dayMs)
}

export function isFailure(outcome: SaleOutcome): boolean {
  return outcome === 'refused' || outcome === 'cancelled'
}

/** A sale to be stored, and whether it is counted. */
export type NextSale = { readonly sale: Sale; readonly counts: 'settled' | 'failed' | undefined }

/** What becomes of a sale; undefined if it stays as it is. What is settled stays settled, and is counted once. */
export function nextSale(known: Sale | undefined, sale: Sale): NextSale | undefined {
  if (known?.outcome === 'settled') {
    if (sale.outcome !== 'settled' || known.round !== undefined || sale.round === undefined) return undefined
    return { sale: { ...known, round: sale.round }, counts: undefined }
  }
  if (sale.outcome === 'settled') return { sale, counts: 'settled' }
  // Another client that sends the payment of a request which is being served does not end that one.
  const isServed = known?.outcome === 'verified' || known?.outcome === 'pending'
  if (isServed && sale.code === 'payment_already_used') return undefined
  const wasCounted = known !== undefined && (isFailure(known.outcome) || known.code !== '')
  // Its code stays while it is served again, so that a payment counts as one failure however often it fails.
  if (!isFailure(sale.outcome)) return { sale: { ...sale, code: known?.code ?? '' }, counts: undefined }
  const code = sale.code === '' ? 'handler_failed' : sale.code
  return { sale: { ...sale, code }, counts: wasCounted ? undefined : 'failed' }
}

/** The place of a sale among the others, as text for {@link SalePage.next}. */
export function cursorOf({ timeMs, transactionId }: Pick<Sale, 'timeMs' | 'transactionId'>): string {
  return `${timeMs}.${transactionId}`
}

/** What {@link cursorOf} has written; undefined for anything else. */
export function parseCursor(text: string): { timeMs: number; transactionId: string } | undefined {
  const [, timeMs, transactionId] = /^([0-9]{1,15})\.([A-Z2-7]{1,60})$/.exec(text) ?? []
  return timeMs === undefined ? undefined : { timeMs: Number(timeMs), transactionId: transactionId! }
}

/** A limit that a store can serve. */
export function pageLimit(limit: number): number {
  return Math.max(1, Math.min(Number.isInteger(limit) ? limit : maxPage, maxPage))
}
