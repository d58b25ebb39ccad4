/**
 * Shares the main thread between searches: each works for a few milliseconds at a time, one after another, and other
 * requests are served in between. Only a few searches are under way at once; the others wait for their start.
 */
const sliceMs = 5
const maxSearches = 4

export class Turns {
  readonly #queue: (() => void)[] = []
  readonly #starts: (() => void)[] = []
  #isScheduled = false
  #running = 0

  /** Runs a search. It has to call `pause` of its slice often. */
  async run<T>(search: (slice: Slice) => Promise<T>): Promise<T> {
    if (this.#running >= maxSearches) await new Promise<void>((resolve) => this.#starts.push(resolve))
    else this.#running++
    try {
      // One search in each turn from its beginning: hundreds of short ones would be a long one together.
      if (this.#isScheduled) await this.next()
      else this.#schedule()
      return await search(new Slice(this))
    } finally {
      const start = this.#starts.shift()
      if (start === undefined) this.#running--
      else start()
    }
  }

  /** Resolves in a later turn of the event loop, for one search in each turn. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#queue.push(resolve)
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#queue.shift()?.()
      if (this.#queue.length > 0) this.#schedule()
    })
  }
}

/** The time that a search may work before others get their turn. */
export class Slice {
  readonly #turns: Turns
  #endsMs = performance.now() + sliceMs

  constructor(turns: Turns) {
    this.#turns = turns
  }

  get isOver(): boolean {
    return performance.now() >= this.#endsMs
  }

  /** A promise to wait for, if the time is up. */
  pause(): Promise<void> | undefined {
    return this.isOver ? this.#wait() : undefined
  }

  async #wait(): Promise<void> {
    await this.#turns.next()
    this.#endsMs = performance.now() + sliceMs
  }
}
