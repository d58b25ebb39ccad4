/**
 * The transactions of one account or asset: their sequence numbers, ascending, each with the roles of the account in
 * the transaction. One number encodes both, because there are several for every kept transaction.
 */
const roleBits = 128

export class PostingList {
  #items: number[] = []
  /** The number of items dropped from the start but not yet removed from `#items`. */
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

  /** Returns the index of the first item that is not before this sequence number. */
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
