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

  /** Adds to the budget. */
  add(cost: number): void {
    this.#remaining += cost
  }
}

/** A part of a budget: spends from it, but no more than a limit. */
export class LimitedBudget extends Budget {
  readonly #whole: Budget

  constructor(whole: Budget, limit: number) {
    super(limit)
    this.#whole = whole
  }

  override get remaining(): number {
    return Math.min(super.remaining, this.#whole.remaining)
  }

  override spend(cost: number): boolean {
    return cost <= this.remaining && super.spend(cost) && this.#whole.spend(cost)
  }

  override add(cost: number): void {
    this.#whole.add(cost)
  }
}
