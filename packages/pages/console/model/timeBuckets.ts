/** Sums spending in time buckets of equal length. */
import type { Spend } from './payments.js'

export type TimeBucket = { fromMs: number; confirmed: bigint; unconfirmed: bigint }

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const steps = [5 * second, 15 * second, minute, 5 * minute, 15 * minute, hour, 6 * hour, 24 * hour]
const maxBuckets = 36
/** A chart with few spends shows empty buckets instead of one wide bar. */
const minBuckets = 24

/** Covers the time from the first spend to now with the shortest step that needs at most 36 buckets. */
export function timeBuckets(
  spends: readonly Spend[],
  nowMs: number,
): { stepMs: number; buckets: readonly TimeBucket[] } {
  const firstMs = Math.min(nowMs, ...spends.map(({ atMs }) => atMs))
  const stepMs = stepFor(nowMs - firstMs)
  const lastStart = Math.floor(nowMs / stepMs) * stepMs
  const count = Math.min(maxBuckets, Math.max(minBuckets, Math.floor((lastStart - firstMs) / stepMs) + 2))
  const start = lastStart - (count - 1) * stepMs
  const buckets = Array.from({ length: count }, (_, index) => ({
    fromMs: start + index * stepMs,
    confirmed: 0n,
    unconfirmed: 0n,
  }))
  for (const { atMs, amount, isConfirmed } of spends) {
    const bucket = buckets[Math.floor((atMs - start) / stepMs)]
    if (bucket === undefined) continue
    if (isConfirmed) bucket.confirmed += amount
    else bucket.unconfirmed += amount
  }
  return { stepMs, buckets }
}

function stepFor(rangeMs: number): number {
  const fitting = steps.find((step) => rangeMs / step <= maxBuckets - 2)
  return fitting ?? Math.ceil(rangeMs / (maxBuckets - 2) / (24 * hour)) * 24 * hour
}
