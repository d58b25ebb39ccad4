/** Returns the sorted number that the given share of all numbers does not exceed. */
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
 * Returns how much larger ours are, as the median of the ratios of samples taken side by side. A disturbance in one
 * round affects both of its samples and therefore cancels out.
 */
export function pairedRatio(ours: readonly number[], others: readonly number[]): number {
  return median(ours.slice(0, others.length).map((value, index) => value / others[index]!))
}

/** Rounds to four digits, because more would be noise. */
export const tidy = (value: number): number => Number(value.toPrecision(4))
