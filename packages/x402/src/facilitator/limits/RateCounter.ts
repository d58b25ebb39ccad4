/**
 * Counts how often each key occurred in the current period. The map is bounded, and eviction never lowers a count. When
 * the map is full, the keys with the lowest count are removed, and every new key then starts with that count. With this
 * method of Misra and Gries, a count may be too high, by at most the number of all occurrences divided by the limit,
 * but never too low.
 */
export class RateCounter {
  readonly #counts = new Map<string, number>()
  readonly #maxKeys: number
  readonly #periodMs: number
  readonly #nowMs: () => number
  #sinceMs: number
  /** The highest count that a key outside the map may have had. */
  #floor = 0

  constructor({ maxKeys, periodMs, nowMs }: { maxKeys: number; periodMs: number; nowMs: () => number }) {
    this.#maxKeys = maxKeys
    this.#periodMs = periodMs
    this.#nowMs = nowMs
    this.#sinceMs = nowMs()
  }

  /** How often the key occurred so far. */
  get(key: string): number {
    this.#renew()
    return this.#counts.get(key) ?? this.#floor
  }

  /** Counts the key, and returns its count including this time. */
  add(key: string): number {
    const count = this.get(key) + 1
    if (this.#counts.size >= this.#maxKeys && !this.#counts.has(key)) this.#evictLowest()
    this.#counts.set(key, count)
    return count
  }

  /** Raises the count of a key to that of another counter. */
  raise(key: string, count: number): void {
    if (this.#counts.has(key) && this.get(key) < count) this.#counts.set(key, count)
  }

  #renew(): void {
    const now = this.#nowMs()
    // A clock that was set back also starts a new period.
    if (now >= this.#sinceMs && now - this.#sinceMs < this.#periodMs) return
    this.#sinceMs = now
    this.#floor = 0
    this.#counts.clear()
  }

  #evictLowest(): void {
    let lowest = Number.POSITIVE_INFINITY
    for (const count of this.#counts.values()) lowest = Math.min(lowest, count)
    this.#floor = Math.max(this.#floor, lowest)
    for (const [key, count] of this.#counts) if (count <= lowest) this.#counts.delete(key)
  }
}
