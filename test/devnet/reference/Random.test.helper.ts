/** A repeatable source of random choices. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** A number from 0 to 1, without 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to `end`, without `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** A whole number from `first` to `last`. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256))
  }

  /** A uint64: often small, often next to a power of two. */
  uint64(): bigint {
    const kind = this.below(10)
    if (kind < 5) return BigInt(this.below(20))
    if (kind < 7) return BigInt(this.below(5000))
    if (kind < 9) return BigInt.asUintN(64, (1n << BigInt(this.below(65))) + BigInt(this.between(-1, 1)))
    return BigInt.asUintN(64, BigInt(this.below(2 ** 32)) * 0x1_0000_0001n * BigInt(this.below(2 ** 32)))
  }
}
