/** How often a health check writes. Anyone may request one. */
const everyMs = 5_000

/**
 * Tells a health check when to write, because a database that answers may be full or read-only. Limited in frequency
 * after a write that succeeded.
 */
export class WriteProbe {
  readonly #nowMs: () => number
  #wroteMs = Number.NEGATIVE_INFINITY

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  get isDue(): boolean {
    return this.#nowMs() - this.#wroteMs >= everyMs
  }

  /** Records that a write has succeeded. */
  done(): void {
    this.#wroteMs = this.#nowMs()
  }
}
