/** Waits that end after a timeout, with the awaited result, or when the process stops. */
export class Waits {
  /**
   * Each function ends a wait. An AbortSignal does not work, because Workers do not let a request use a signal created
   * by another.
   */
  readonly #wakeUps = new Set<() => void>()
  #isStopped = false

  /** Whether waits return immediately, because the process is stopping. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Ends all waits. */
  stop(): void {
    this.#isStopped = true
    for (const wakeUp of [...this.#wakeUps]) wakeUp()
  }

  /** @param watch subscribes a function that ends the sleep early; returns a function that unsubscribes */
  sleep(ms: number, watch?: (wakeUp: () => void) => () => void): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isStopped) return resolve()
      const wakeUp = (): void => {
        clearTimeout(timer)
        unwatch?.()
        this.#wakeUps.delete(wakeUp)
        resolve()
      }
      const timer = setTimeout(wakeUp, ms)
      this.#wakeUps.add(wakeUp)
      const unwatch = watch?.(wakeUp)
    })
  }

  /** Returns the result, or `otherwise` when the time is up or the process stops. */
  for<T, U>(work: Promise<T>, otherwise: U, ms: number): Promise<T | U> {
    return waitFor(work, otherwise, ms, this.#wakeUps)
  }
}

/** Returns the result, or `otherwise` when the time is up or one of the `wakeUps` is called. */
export async function waitFor<T, U>(
  work: Promise<T>,
  otherwise: U,
  ms: number,
  wakeUps = new Set<() => void>(),
): Promise<T | U> {
  let wakeUp = (): void => {}
  const timeUp = new Promise<U>((resolve) => {
    wakeUp = () => resolve(otherwise)
  })
  const timer = setTimeout(wakeUp, ms)
  wakeUps.add(wakeUp)
  try {
    return await Promise.race([work, timeUp])
  } finally {
    clearTimeout(timer)
    wakeUps.delete(wakeUp)
  }
}

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
