/**
 * A limit on how many pieces of work run at the same time. Those that a caller waits for come before those that run in the
 * background, and each kind in the order of arrival.
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
      // Passed on to the next one, or free again.
      const next = this.#urgent.shift() ?? this.#background.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
