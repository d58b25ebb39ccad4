/** Of sorted numbers, the one that the given share of them does not exceed. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return sorted[middle]!
  return (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * How much larger ours are, from samples that were taken side by side: the median of the ratios of each pair. What
 * disturbed one round disturbed both of its samples, and so drops out.
 */
export function pairedRatio(ours: readonly number[], others: readonly number[]): number {
  return median(ours.slice(0, others.length).map((value, index) => value / others[index]!))
}

/** Four digits: more would be noise. */
export const tidy = (value: number): number => Number(value.toPrecision(4))
