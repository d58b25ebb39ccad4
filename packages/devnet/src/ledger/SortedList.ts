/** Distinct values in ascending order. Additions are merged in batches, so that adding stays cheap in a long list. */
const maxUnsorted = 1_024

export class SortedList<T extends string | bigint> {
  /** Sorted up to `#sorted`; later values were added since. */
  #values: T[] = []
  #sorted = 0

  /** Creates a list of distinct values in any order. */
  static of<T extends string | bigint>(values: Iterable<T>): SortedList<T> {
    const list = new SortedList<T>()
    for (const value of values) list.add(value)
    return list
  }

  get size(): number {
    return this.#values.length
  }

  /** The value must not be in the list yet. */
  add(value: T): void {
    const last = this.#values.at(-1)
    const isInOrder = this.#sorted === this.#values.length && (last === undefined || last < value)
    this.#values.push(value)
    if (isInOrder) this.#sorted++
    else if (this.#values.length - this.#sorted >= maxUnsorted) this.#merge()
  }

  delete(value: T): void {
    this.#merge()
    const index = this.#indexOf(value)
    if (this.#values[index] !== value) return
    this.#values.splice(index, 1)
    this.#sorted--
  }

  at(index: number): T | undefined {
    this.#merge()
    return this.#values[index]
  }

  /** The index of the first value after this one, which need not be in the list. */
  indexAfter(value: T | undefined): number {
    if (value === undefined) return 0
    this.#merge()
    const index = this.#indexOf(value)
    return this.#values[index] === value ? index + 1 : index
  }

  /** The index of the first value that is not before this one. */
  #indexOf(value: T): number {
    let low = 0
    let high = this.#values.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#values[middle]! < value) low = middle + 1
      else high = middle
    }
    return low
  }

  #merge(): void {
    if (this.#sorted === this.#values.length) return
    const added = this.#values.splice(this.#sorted).sort((a, b) => (a < b ? -1 : 1))
    const merged: T[] = []
    let from = 0
    for (const value of added) {
      while (from < this.#sorted && this.#values[from]! < value) merged.push(this.#values[from++]!)
      merged.push(value)
    }
    while (from < this.#sorted) merged.push(this.#values[from++]!)
    this.#values = merged
    this.#sorted = merged.length
  }
}
