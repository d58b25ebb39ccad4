/** Sums by key over the last minute or day, in parts, for the settlements of one process. */

/** Fees count for a day, in parts of a quarter of an hour. */
export const feePeriod = { periodMs: 24 * 60 * 60 * 1000, partMs: 15 * 60 * 1000 } as const
/** Settlements count for a minute, in parts of a second. */
export const ratePeriod = { periodMs: 60_000, partMs: 1_000 } as const

export type RollingPeriod = {
  readonly periodMs: number
  /** The length of a part. All amounts of a part count until the whole part is older than the period. */
  readonly partMs: number
}

/** The first millisecond of the part that contains a time. */
export function partOf(ms: number, { partMs }: RollingPeriod): number {
  return ms - (ms % partMs)
}

/** Parts that start at or before this time no longer count. */
export function lastEnded(nowMs: number, { periodMs, partMs }: RollingPeriod): number {
  return nowMs - periodMs - partMs
}

class RollingSum {
  readonly #parts = new Map<number, bigint>()
  sum = 0n

  add(fromMs: number, amount: bigint): void {
    this.#parts.set(fromMs, (this.#parts.get(fromMs) ?? 0n) + amount)
    this.sum += amount
  }

  removeUntil(lastMs: number): void {
    // Ordered by time, unless the clock was set back; a part then counts for longer.
    for (const [fromMs, amount] of this.#parts) {
      if (fromMs > lastMs) return
      this.sum -= amount
      this.#parts.delete(fromMs)
    }
  }
}

export class RollingSums {
  readonly #period: RollingPeriod
  readonly #nowMs: () => number
  readonly #sums = new Map<string, RollingSum>()
  #sweptMs: number

  constructor(period: RollingPeriod, nowMs: () => number) {
    this.#period = period
    this.#nowMs = nowMs
    this.#sweptMs = nowMs()
  }

  /** The number of keys. Each was added to in the last two periods. */
  get size(): number {
    return this.#sums.size
  }

  get(key: string): bigint {
    const sum = this.#sums.get(key)
    sum?.removeUntil(lastEnded(this.#nowMs(), this.#period))
    return sum?.sum ?? 0n
  }

  /** Returns the part that the amount counts in, for {@link change}. */
  add(key: string, amount: bigint): number {
    const now = this.#nowMs()
    this.#sweep(now)
    const fromMs = partOf(now, this.#period)
    this.#add(key, fromMs, amount)
    return fromMs
  }

  /** Changes the sum of an earlier part. A part that no longer counts is ignored. */
  change(key: string, fromMs: number, amount: bigint): void {
    if (fromMs > lastEnded(this.#nowMs(), this.#period)) this.#add(key, fromMs, amount)
  }

  #add(key: string, fromMs: number, amount: bigint): void {
    const sum = this.#sums.get(key) ?? new RollingSum()
    this.#sums.set(key, sum)
    sum.add(fromMs, amount)
  }

  #sweep(now: number): void {
    if (now >= this.#sweptMs && now - this.#sweptMs < this.#period.periodMs) return
    this.#sweptMs = now
    for (const key of [...this.#sums.keys()]) if (this.get(key) === 0n) this.#sums.delete(key)
  }
}
