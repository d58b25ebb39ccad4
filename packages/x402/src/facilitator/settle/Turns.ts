/**
 * Limits how much work runs concurrently. Work that a caller waits for comes before background work, each in the order
 * of arrival.
 */
export class Turns {
  readonly #max: number
  readonly #urgent: (() => void)[] = []
  readonly #background: (() => void)[] = []
  #running = 0

  constructor(max: number) {
    this.#max = max
  }

  async run<T>(isUrgent: boolean, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#max) this.#running++
    else await new Promise<void>((resolve) => (isUrgent ? this.#urgent : this.#background).push(resolve))
    try {
      return await work()
    } finally {
      // Passes the slot to the next work, or frees it.
      const next = this.#urgent.shift() ?? this.#background.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
