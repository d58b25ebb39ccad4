/** Batches calls that wait at the same time into one statement, one round trip and one commit. */

/**
 * The wait limit of batches to a database. Callers wait for less than a minute, and a sent statement takes some of
 * that.
 */
export const maxWaitMs = 5_000

export type BatchesOptions<Item, Result> = {
  /** Returns the results in the order of the items. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Two items with the same key are never in one batch. */
  readonly key: (item: Item) => string
  /** Only items of the same group are in one batch. @default all are */
  readonly group?: ((item: Item) => string) | undefined
  readonly maxItems: number
  /** How many batches may be sent before the response to an earlier one. */
  readonly maxRunning: number
  /** Items that wait longer than this before they are sent fail, because the database hangs and nothing was changed. */
  readonly maxWaitMs: number
  /** Creates the error for such items. */
  readonly late: () => unknown
  /** Whether an error may be caused by one item. Each item is then sent separately. */
  readonly isOfItem: (error: unknown) => boolean
}

type Waiting<Item, Result> = {
  readonly item: Item
  readonly sinceMs: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export class Batches<Item, Result> {
  readonly #options: BatchesOptions<Item, Result>
  #waiting: Waiting<Item, Result>[] = []
  #running = 0
  #isScheduled = false
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #idle = new Set<() => void>()

  constructor(options: BatchesOptions<Item, Result>) {
    this.#options = options
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, sinceMs: performance.now(), resolve, reject })
      this.#schedule()
      this.#limitWait(this.#options.maxWaitMs)
    })
  }

  /** Uses one timer for all items, because most are sent immediately. */
  #limitWait(ms: number): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#rejectLate()
    }, ms)
    this.#timer.unref()
  }

  #rejectLate(): void {
    const { maxWaitMs, late } = this.#options
    const lastMs = performance.now() - maxWaitMs
    const waiting = this.#waiting
    this.#waiting = waiting.filter(({ sinceMs }) => sinceMs > lastMs)
    for (const { sinceMs, reject } of waiting) if (sinceMs <= lastMs) reject(late())
    // Items are out of order only if two with the same key wait.
    if (this.#waiting.length > 0) this.#limitWait(Math.max(this.#waiting[0]!.sinceMs - lastMs, 1))
  }

  /** Resolves when nothing waits or runs. */
  async idle(): Promise<void> {
    if (this.#running === 0 && this.#waiting.length === 0) return
    await new Promise<void>((resolve) => this.#idle.add(resolve))
  }

  /** Runs at the end of this turn of the event loop, with all of its items. */
  #schedule(): void {
    if (this.#isScheduled || this.#running >= this.#options.maxRunning) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      while (this.#waiting.length > 0 && this.#running < this.#options.maxRunning) void this.#run(this.#take())
    })
  }

  #take(): Waiting<Item, Result>[] {
    const { key, group, maxItems } = this.#options
    const [taken, left, keys]: [Waiting<Item, Result>[], Waiting<Item, Result>[], Set<string>] = [[], [], new Set()]
    const first = this.#waiting[0]!
    for (const one of this.#waiting) {
      const isOfGroup = group === undefined || group(one.item) === group(first.item)
      if (taken.length >= maxItems || !isOfGroup || keys.has(key(one.item))) left.push(one)
      else {
        keys.add(key(one.item))
        taken.push(one)
      }
    }
    this.#waiting = left
    return taken
  }

  async #run(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    this.#running++
    try {
      await this.#send(batch)
    } finally {
      this.#running--
      if (this.#waiting.length > 0) this.#schedule()
      else if (this.#running === 0) {
        for (const resolve of this.#idle) resolve()
        this.#idle.clear()
      }
    }
  }

  /** Never rejects. */
  async #send(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.run(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      if (batch.length > 1 && this.#options.isOfItem(error)) await this.#sendEach(batch)
      else for (const { reject } of batch) reject(error)
    }
  }

  /** Limited to the wait time of one item, because a hundred slow items would take a hundred times as long. */
  async #sendEach(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const untilMs = performance.now() + this.#options.maxWaitMs
    for (const one of batch) {
      if (performance.now() < untilMs) await this.#send([one])
      else one.reject(this.#options.late())
    }
  }
}
