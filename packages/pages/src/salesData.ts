/**
 * The data of the seller's page. Amounts are base units as text, because sums have more digits than a number can hold.
 */

/** A payment, as a store records it. */
export type SalesPayment = {
  readonly transactionId: string
  readonly timeMs: number
  readonly outcome: 'verified' | 'pending' | 'settled' | 'refused' | 'cancelled' | 'unknown'
  readonly code: string
  readonly route: string
  readonly payer: string
  readonly amount: string
  readonly asset: string
  readonly assetName: string
  readonly decimals: number | undefined
  readonly network: string
}

/** The revenue of a route on a day in an asset. */
export type SalesRevenue = {
  /** Days since 1970, in UTC. Negative for the sum of all earlier days. */
  readonly day: number
  readonly route: string
  readonly network: string
  readonly asset: string
  readonly assetName: string
  readonly decimals: number | undefined
  readonly settled: number
  readonly amount: string
  readonly failed: number
}

/** A page of a list, and where the next one begins. */
export type SalesList = {
  readonly sales: readonly SalesPayment[]
  readonly next: string | undefined
  /** Where this page begins; undefined for the first. */
  readonly after: string | undefined
}

/** When a settled payment was made and confirmed, in rounds. */
export type SalesSettlement = {
  /** The round that confirmed it; undefined if it is not known. */
  readonly round: number | undefined
  /** The first round in which it was valid: that of the buyer's node when it was made. */
  readonly firstValid: number
  /** The canonical CAIP-2 id. */
  readonly network: string
}

/** The data that {@link salesPage} shows. */
export type SalesPageData = {
  /** The name of the shop. */
  readonly name: string
  /** The number of days shown, up to `today`. */
  readonly days: number
  /** Days since 1970, in UTC. */
  readonly today: number
  /** The revenue of the days shown. */
  readonly revenue: readonly SalesRevenue[]
  readonly payments: SalesList
  readonly failures: SalesList
  /** The latest settled payments. */
  readonly settlements: readonly SalesSettlement[]
}

/** Revenue in one asset of one network. */
export type AssetTotal = Pick<SalesRevenue, 'network' | 'asset' | 'assetName' | 'decimals'> & {
  readonly amount: bigint
  readonly settled: number
  readonly failed: number
  readonly byDay: ReadonlyMap<number, bigint>
}

/** Sums by asset and network, the one with the most payments first. */
export function totalsByAsset(revenue: readonly SalesRevenue[]): AssetTotal[] {
  return group(revenue, ({ network, asset }) => `${network} ${asset}`)
    .map((rows) => {
      const byDay = new Map<number, bigint>()
      for (const { day, amount } of rows) byDay.set(day, (byDay.get(day) ?? 0n) + BigInt(amount))
      return { ...sum(rows), byDay }
    })
    .sort((a, b) => b.settled - a.settled)
}

export type RouteTotal = Omit<AssetTotal, 'byDay'> & { readonly route: string }

/** Sums by route, asset and network, the one with the most payments first. */
export function totalsByRoute(revenue: readonly SalesRevenue[]): RouteTotal[] {
  return group(revenue, ({ route, network, asset }) => `${network} ${asset} ${route}`)
    .map((rows) => ({ ...sum(rows), route: rows[0]!.route }))
    .sort((a, b) => b.settled - a.settled)
}

function group(rows: readonly SalesRevenue[], keyOf: (row: SalesRevenue) => string): SalesRevenue[][] {
  const groups = new Map<string, SalesRevenue[]>()
  for (const row of rows) {
    const key = keyOf(row)
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return [...groups.values()]
}

function sum(rows: readonly SalesRevenue[]): Omit<AssetTotal, 'byDay'> {
  const { network, asset, assetName } = rows[0]!
  return {
    network,
    asset,
    assetName,
    // Rows recorded before a node reported the decimals have none.
    decimals: rows.find(({ decimals }) => decimals !== undefined)?.decimals,
    amount: rows.reduce((total, { amount }) => total + BigInt(amount), 0n),
    settled: rows.reduce((total, { settled }) => total + settled, 0),
    failed: rows.reduce((total, { failed }) => total + failed, 0),
  }
}

/** How many payments were settled after a number of rounds. */
export type LatencyBucket = { readonly rounds: number; readonly count: number }

/** All longer times are in the last bucket. */
export const maxLatencyRounds = 10

/**
 * Counts settled payments by the rounds between the payment and its confirmation, from the shortest to the longest time.
 * Empty without payments.
 */
export function latencies(settlements: readonly Omit<SalesSettlement, 'network'>[]): LatencyBucket[] {
  const rounds = settlements
    .flatMap(({ round, firstValid }) => (round === undefined ? [] : [round - firstValid]))
    .filter((count) => count >= 0)
    .map((count) => Math.min(count, maxLatencyRounds))
  if (rounds.length === 0) return []
  const [first, last] = [Math.min(...rounds), Math.max(...rounds)]
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    rounds: first + index,
    count: rounds.filter((count) => count === first + index).length,
  }))
}
