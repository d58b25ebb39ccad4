/** What the page of a seller shows. Amounts are base units, as text: sums have more digits than a number can hold. */

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

/** What a route earned on a day in an asset. */
export type SalesRevenue = {
  /** Days since 1970, in UTC; negative for the sum of all earlier ones. */
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

/** A part of a list, and where the next one begins. */
export type SalesList = {
  readonly sales: readonly SalesPayment[]
  readonly next: string | undefined
  /** Where this part begins; undefined for the first. */
  readonly after: string | undefined
}

/** What {@link salesPage} shows. */
export type SalesPageData = {
  /** The name of the shop. */
  readonly name: string
  /** How many days are shown, up to `today`. */
  readonly days: number
  /** Days since 1970, in UTC. */
  readonly today: number
  /** Of the days that are shown. */
  readonly revenue: readonly SalesRevenue[]
  readonly payments: SalesList
  readonly failures: SalesList
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
    // A row from before a node had told them has none.
    decimals: rows.find(({ decimals }) => decimals !== undefined)?.decimals,
    amount: rows.reduce((total, { amount }) => total + BigInt(amount), 0n),
    settled: rows.reduce((total, { settled }) => total + settled, 0),
    failed: rows.reduce((total, { failed }) => total + failed, 0),
  }
}
