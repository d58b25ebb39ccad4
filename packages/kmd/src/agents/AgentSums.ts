/** Sums one agent's spending for each of its limits, in memory. The file holds the same data; this is faster. */
import { type Limit, type Period, quantityOf, type Rules } from '@latchkey/kmd-api/rules'
import type { LimitUse } from './AgentsApi.js'
import type { Sums } from './decide.js'
import { maxInteger } from './PaymentFacts.js'
import { Series } from './Series.js'

/** The amounts of a reservation that count against limits. */
export type Counted = {
  readonly atMs: number
  readonly network: string
  readonly payee: string | undefined
  readonly microAlgos: bigint
  readonly assetId: bigint
  readonly assetAmount: bigint
}

/** Identifies a series. Limits that differ only in their period share one. */
export type SeriesOf = Pick<Limit, 'network' | 'payee'> & { readonly assetId: bigint | undefined }

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const windows: { readonly [period in Period]?: number } = {
  hour: hourMs,
  day: dayMs,
  week: 7 * dayMs,
  '30days': 30 * dayMs,
}

/** The longest rolling window. */
export const longestWindowMs = 30 * dayMs

export class AgentSums implements Sums {
  readonly #series = new Map<string, { of: SeriesOf; series: Series }>()

  constructor({ limits }: Pick<Rules, 'limits'>) {
    for (const limit of limits) {
      const key = keyOf(limit)
      if (limit.per !== 'payment' && !this.#series.has(key)) {
        this.#series.set(key, { of: seriesOf(limit), series: new Series() })
      }
    }
  }

  /** The series: one for all limits that differ only in their period. */
  series(): readonly SeriesOf[] {
    return [...this.#series.values()].map(({ of }) => of)
  }

  /** Whether the series here also cover other rules. */
  covers({ limits }: Pick<Rules, 'limits'>): boolean {
    return limits.every((limit) => limit.per === 'payment' || this.#series.has(keyOf(limit)))
  }

  /**
   * Adds the sum of amounts older than the longest window. Call this before adding anything else; newer amounts are
   * added one by one.
   */
  addBefore(series: SeriesOf, sum: bigint): void {
    this.#series.get(keyOfSeries(series))!.series.addBefore(sum)
  }

  used(limit: Limit, nowMs: number): bigint {
    const { series } = this.#series.get(keyOf(limit))!
    const windowMs = windows[limit.per]
    return windowMs === undefined ? series.total : series.sumAfter(nowMs - windowMs)
  }

  freeAt(limit: Limit, most: bigint, nowMs: number): number | undefined {
    const windowMs = windows[limit.per]
    if (windowMs === undefined) return undefined
    const atMs = this.#series.get(keyOf(limit))!.series.fallsTo(most)
    return atMs === undefined ? undefined : Math.max(nowMs, atMs + windowMs)
  }

  /** A limit and its remaining budget. */
  use(limit: Limit, nowMs: number): LimitUse {
    const most = quantityOf(limit)
    if (limit.per === 'payment') return { limit, used: 0n, left: most, resetsAtMs: undefined }
    const used = this.used(limit, nowMs)
    const resetsAtMs = used === 0n ? undefined : this.freeAt(limit, used - 1n, nowMs)
    return { limit, used, left: used < most ? most - used : 0n, resetsAtMs }
  }

  /** Whether the amounts can be counted without overflow. */
  hasRoomFor(counted: Counted): boolean {
    for (const { of, series } of this.#series.values()) if (!series.hasRoomFor(amountIn(of, counted))) return false
    return counted.microAlgos <= maxInteger && counted.assetAmount <= maxInteger
  }

  /** @returns a function that removes the amounts again, valid only while nothing else was added */
  add(counted: Counted): () => void {
    const added: Series[] = []
    for (const { of, series } of this.#series.values()) {
      const amount = amountIn(of, counted)
      if (amount === 0n) continue
      series.forgetUpTo(counted.atMs - longestWindowMs)
      series.add(counted.atMs, amount)
      added.push(series)
    }
    return () => {
      for (const series of added) series.removeLast()
    }
  }

  giveBack(all: readonly Counted[]): void {
    for (const { of, series } of this.#series.values()) {
      const amounts = all.map((counted) => ({ atMs: counted.atMs, amount: amountIn(of, counted) }))
      series.giveBack(amounts.filter(({ amount }) => amount !== 0n))
    }
  }
}

/** The part of a reservation that belongs to a series. */
export function amountIn({ network, payee, assetId }: SeriesOf, counted: Counted): bigint {
  if (network !== counted.network || (payee !== undefined && payee !== counted.payee)) return 0n
  if (assetId === undefined) return 1n
  if (assetId === 0n) return counted.microAlgos
  return assetId === counted.assetId ? counted.assetAmount : 0n
}

function seriesOf(limit: Limit): SeriesOf {
  const { network, payee } = limit
  return { network, payee, assetId: limit.type === 'count' ? undefined : limit.assetId }
}

const keys = new WeakMap<Limit, string>()

function keyOf(limit: Limit): string {
  const known = keys.get(limit)
  if (known !== undefined) return known
  const key = keyOfSeries(seriesOf(limit))
  keys.set(limit, key)
  return key
}

function keyOfSeries({ network, payee, assetId }: SeriesOf): string {
  return `${network} ${payee ?? ''} ${assetId ?? 'count'}`
}
