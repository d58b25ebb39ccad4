/**
 * Amounts ordered by time, with the sum of any period that ends now. Cumulative sums are kept, so that a period's sum
 * is a difference and its edge is found by bisection: a million amounts cost no more than a few.
 */

/** Sums are kept modulo 2^64. The total never reaches it, so differences are exact. */
const mostTotal = 2n ** 63n - 1n

export type Added = { readonly atMs: number; readonly amount: bigint }

export class Series {
  #atMs = new Float64Array(16)
  #upTo = new BigUint64Array(16)
  #length = 0
  /** The sum of amounts older than the first one here. */
  #before = 0n

  /** Adds the sum of amounts that no window can reach. Call this before adding any amount. */
  addBefore(sum: bigint): void {
    if (this.#length > 0) throw new RangeError('older amounts are added first')
    this.#before += sum
  }

  get length(): number {
    return this.#length
  }

  /** The sum of all amounts, including those older than any window. */
  get total(): bigint {
    return this.#length === 0 ? this.#before : this.#upTo[this.#length - 1]!
  }

  /** Whether the amount can be counted without overflow. */
  hasRoomFor(amount: bigint): boolean {
    return this.total + amount <= mostTotal
  }

  /** @param atMs not earlier than the last one */
  add(atMs: number, amount: bigint): void {
    if (this.#length === this.#atMs.length) this.#grow()
    const total = this.total + amount
    this.#atMs[this.#length] = atMs
    this.#upTo[this.#length] = total
    this.#length++
  }

  /** Removes the last amount, because it was not written. */
  removeLast(): void {
    this.#length--
  }

  /** Returns amounts that were added, in one pass, because each one changes all later cumulative sums. */
  giveBack(amounts: readonly Added[]): void {
    const found = new Map<number, bigint>()
    let [removed, first] = [0n, this.#length]
    for (const { atMs, amount } of amounts) {
      // Older amounts are part of the sum before the first.
      const isOld = this.#length === 0 || atMs < this.#atMs[0]!
      const index = isOld ? 0 : this.#find(atMs, amount, found)
      if (isOld) removed += amount
      else found.set(index, amount)
      first = Math.min(first, index)
    }
    this.#before -= removed
    for (let index = first; index < this.#length; index++) {
      removed += found.get(index) ?? 0n
      this.#upTo[index]! -= removed
    }
  }

  /** The sum of the amounts after a time. */
  sumAfter(startMs: number): bigint {
    return this.total - this.#sumBefore(this.#firstAfter(startMs))
  }

  /** The time of the amount after which the remaining sum is at most `most`. */
  fallsTo(most: bigint): number | undefined {
    if (most < 0n || this.#length === 0) return undefined
    const wanted = this.total - most
    let [low, high] = [0, this.#length - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#upTo[middle]! >= wanted) high = middle
      else low = middle + 1
    }
    return this.#atMs[low]
  }

  /** Drops the amounts up to a time but keeps them in the total. Does nothing while there are few. */
  forgetUpTo(atMs: number): void {
    const first = this.#firstAfter(atMs)
    if (first < 1_000 || first < this.#length / 2) return
    this.#before = this.#sumBefore(first)
    this.#atMs.copyWithin(0, first, this.#length)
    this.#upTo.copyWithin(0, first, this.#length)
    this.#length -= first
  }

  /** The index of a matching amount that is not in `found`. Equal amounts are interchangeable. */
  #find(atMs: number, amount: bigint, found: ReadonlyMap<number, bigint>): number {
    for (let index = this.#firstAfter(atMs) - 1; index >= 0 && this.#atMs[index] === atMs; index--) {
      if (!found.has(index) && this.#upTo[index]! - this.#sumBefore(index) === amount) return index
    }
    throw new RangeError('an amount is given back that was not added')
  }

  #sumBefore(index: number): bigint {
    return index === 0 ? this.#before : this.#upTo[index - 1]!
  }

  /** The index of the first amount after a time. */
  #firstAfter(startMs: number): number {
    let [low, high] = [0, this.#length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#atMs[middle]! > startMs) high = middle
      else low = middle + 1
    }
    return low
  }

  #grow(): void {
    const [atMs, upTo] = [new Float64Array(2 * this.#length), new BigUint64Array(2 * this.#length)]
    atMs.set(this.#atMs)
    upTo.set(this.#upTo)
    this.#atMs = atMs
    this.#upTo = upTo
  }
}
