/**
 * Shares the main thread between searches: each works for a few milliseconds at a time, one after another, and other
 * requests are served in between. Only a few searches run at once; the others wait for their start.
 */
import { ApiError } from '../rest/ApiError.js'

const sliceMs = 5
const maxSearches = 4

/** Calls the listener if the client closes its connection. */
export type OnClose = (listener: () => void) => void

export class Turns {
  readonly #queue: (() => void)[] = []
  readonly #starts: (() => void)[] = []
  #isScheduled = false
  #running = 0

  /** The turns of one client, whose searches end when it disconnects. */
  of(onClose: OnClose | undefined): Pick<Turns, 'run'> {
    return { run: (search) => this.run(search, onClose) }
  }

  /** Runs a search, which must call `pause` of its slice often. */
  async run<T>(search: (slice: Slice) => Promise<T>, onClose?: OnClose): Promise<T> {
    const slice = new Slice(this)
    onClose?.(() => slice.cancel())
    if (this.#running >= maxSearches) await new Promise<void>((resolve) => this.#starts.push(resolve))
    else this.#running++
    try {
      // Starts one search per turn, because hundreds of short ones would add up to a long one.
      if (!slice.isCancelled && !this.#isScheduled) this.#schedule()
      else await slice.wait()
      slice.start()
      return await search(slice)
    } finally {
      const start = this.#starts.shift()
      if (start === undefined) this.#running--
      else start()
    }
  }

  /** Resolves in a later turn of the event loop, for one search per turn. */
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
      const next = this.#queue.shift()
      if (next === undefined) return
      next()
      // The slice takes this turn, even if no other search waits.
      this.#schedule()
    })
  }
}

/** The time that a search may work before others get their turn. */
export class Slice {
  readonly #turns: Turns
  #endsMs = 0
  #isCancelled = false

  constructor(turns: Turns) {
    this.#turns = turns
  }

  get isCancelled(): boolean {
    return this.#isCancelled
  }

  /** Makes the search end with an error at its next pause. */
  cancel(): void {
    this.#isCancelled = true
  }

  start(): void {
    this.#endsMs = performance.now() + sliceMs
  }

  get isOver(): boolean {
    return performance.now() >= this.#endsMs
  }

  /** Returns a promise to await if the time is up. */
  pause(): Promise<void> | undefined {
    return this.isOver ? this.wait() : undefined
  }

  async wait(): Promise<void> {
    // Also checked before the turn, so that searches of disconnected clients take no time from the others.
    this.#check()
    await this.#turns.next()
    this.#check()
    this.start()
  }

  #check(): void {
    if (this.#isCancelled) throw new ApiError(503, 'the client closed the connection')
  }
}
