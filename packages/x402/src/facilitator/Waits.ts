/** Waits that end with their time, with what they wait for, or when the process stops. */
export class Waits {
  /** Each ends a wait. Not an AbortSignal: Workers do not let a request use one that another request created. */
  readonly #wakeUps = new Set<() => void>()
  #isStopped = false

  /** Whether no wait begins any more. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Ends all of them. */
  stop(): void {
    this.#isStopped = true
    for (const wakeUp of [...this.#wakeUps]) wakeUp()
  }

  /** @param watch what can wake it up before its time; returns what ends that */
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

  /** The result, or the other value when the time is up or the process stops. */
  for<T, U>(work: Promise<T>, otherwise: U, ms: number): Promise<T | U> {
    return waitFor(work, otherwise, ms, this.#wakeUps)
  }
}

/** The result, or the other value when the time is up, or when one of the `wakeUps` is called. */
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
