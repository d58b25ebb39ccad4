/** A cost budget that several programs share. */
export class Budget {
  #remaining: number

  constructor(total: number) {
    this.#remaining = total
  }

  /** The cost that can still be spent. */
  get remaining(): number {
    return this.#remaining
  }

  /** Spends a cost. Returns false and spends nothing if the rest is too small. */
  spend(cost: number): boolean {
    if (cost > this.#remaining) return false
    this.#remaining -= cost
    return true
  }
}
