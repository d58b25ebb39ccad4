/**
 * The transactions of one account or asset: their sequence numbers, ascending, each with the roles that the account has in
 * the transaction. One number for both, because there are several for every transaction that is kept.
 */
const roleBits = 128

export class PostingList {
  #items: number[] = []
  /** Dropped from the start, and not removed from `#items` yet. */
  #start = 0

  get size(): number {
    return this.#items.length - this.#start
  }

  push(sequence: number, roles: number): void {
    this.#items.push(sequence * roleBits + roles)
  }

  sequence(index: number): number {
    return Math.floor(this.#items[this.#start + index]! / roleBits)
  }

  roles(index: number): number {
    return this.#items[this.#start + index]! % roleBits
  }

  dropFirst(): void {
    this.#start++
    if (this.#start * 2 <= this.#items.length) return
    this.#items = this.#items.slice(this.#start)
    this.#start = 0
  }

  dropLast(): void {
    this.#items.pop()
  }

  /** The index of the first item that is not before this sequence number. */
  indexOf(sequence: number): number {
    let low = 0
    let high = this.size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.sequence(middle) < sequence) low = middle + 1
      else high = middle
    }
    return low
  }
}
