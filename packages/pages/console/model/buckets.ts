/** Spending put into equal spans of time. */
import type { Spend } from './payments.js'

export type Bucket = { fromMs: number; settled: bigint; unsettled: bigint }

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const steps = [5 * second, 15 * second, minute, 5 * minute, 15 * minute, hour, 6 * hour, 24 * hour]
const mostBuckets = 36

/** From the first spend to now, in as many steps as can be told apart. */
export function bucketsOf(spends: readonly Spend[], nowMs: number): { stepMs: number; buckets: readonly Bucket[] } {
  const firstMs = Math.min(nowMs, ...spends.map(({ atMs }) => atMs))
  const stepMs = stepFor(nowMs - firstMs)
  const lastStart = Math.floor(nowMs / stepMs) * stepMs
  // A chart that is just beginning has room to grow into.
  const count = Math.min(mostBuckets, Math.max(24, Math.floor((lastStart - firstMs) / stepMs) + 2))
  const start = lastStart - (count - 1) * stepMs
  const buckets = Array.from({ length: count }, (_, index) => ({
    fromMs: start + index * stepMs,
    settled: 0n,
    unsettled: 0n,
  }))
  for (const { atMs, amount, isSettled } of spends) {
    const bucket = buckets[Math.floor((atMs - start) / stepMs)]
    if (bucket === undefined) continue
    if (isSettled) bucket.settled += amount
    else bucket.unsettled += amount
  }
  return { stepMs, buckets }
}

function stepFor(rangeMs: number): number {
  const fitting = steps.find((step) => rangeMs / step <= mostBuckets - 2)
  return fitting ?? Math.ceil(rangeMs / (mostBuckets - 2) / (24 * hour)) * 24 * hour
}
