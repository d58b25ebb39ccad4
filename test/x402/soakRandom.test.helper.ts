/** Makes the random choices of a soak from a seed that is printed: the choices can be repeated, their timing cannot. */
import { setTimeout as sleep } from 'node:timers/promises'

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns a number of at least 0 and less than 1, by Mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let value = this.#state
    value = Math.imul(value ^ (value >>> 15), value | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)]!
  }

  shuffle<T>(list: readonly T[]): T[] {
    const ranked = list.map((value) => ({ value, rank: this.next() }))
    return ranked.sort((a, b) => a.rank - b.rank).map(({ value }) => value)
  }

  async pause(lowMs: number, highMs: number): Promise<void> {
    await sleep(this.between(lowMs, highMs))
  }
}

/** Counts events by name. */
export class Counter {
  readonly #counts: { [name: string]: number } = {}

  add(name: string, count = 1): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + count
  }

  get(name: string): number {
    return this.#counts[name] ?? 0
  }

  get total(): number {
    return Object.values(this.#counts).reduce((sum, count) => sum + count, 0)
  }

  /** Returns the counts sorted by name. */
  toJSON(): { [name: string]: number } {
    return Object.fromEntries(Object.entries(this.#counts).sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}
