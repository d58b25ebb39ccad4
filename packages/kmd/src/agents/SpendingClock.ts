/**
 * The clock for limits and expiry. Its time never goes backwards: the file stores the highest time used, which is the
 * earliest time after a restart. While the machine's clock is behind, this clock advances by elapsed time.
 */
import type { StateDatabase } from '../state/StateDatabase.js'

export type SpendingClockOptions = {
  database: StateDatabase
  /** Milliseconds since 1970. */
  now?: () => number
  /** A monotonic clock, in milliseconds from an arbitrary start. */
  elapsed?: () => number
}

export class SpendingClock {
  readonly #database: StateDatabase
  readonly #now: () => number
  readonly #elapsed: () => number
  #highestMs: number | undefined
  #elapsedMs = 0
  #storedMs = 0

  constructor({ database, now = Date.now, elapsed = () => performance.now() }: SpendingClockOptions) {
    this.#database = database
    this.#now = now
    this.#elapsed = elapsed
  }

  now(): number {
    const elapsedMs = this.#elapsed()
    const passedMs = this.#highestMs === undefined ? 0 : Math.max(0, elapsedMs - this.#elapsedMs)
    const highestMs = this.#highestMs ?? this.#read()
    this.#elapsedMs = elapsedMs
    // Kept with its fraction, because many short intervals would otherwise add up to nothing.
    this.#highestMs = Math.max(this.#now(), highestMs + passedMs)
    return Math.floor(this.#highestMs)
  }

  /** Writes the time that was used. Call only within `StateDatabase.change`. */
  write(nowMs: number): void {
    if (nowMs <= this.#storedMs) return
    this.#database
      .statement('INSERT INTO clock (one, highest_ms) VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET highest_ms = ?1')
      .run(nowMs)
    this.#storedMs = nowMs
  }

  /** Called after a transaction was rolled back. */
  forgetStored(): void {
    this.#storedMs = 0
  }

  #read(): number {
    if (!this.#database.exists) return 0
    const row = this.#database.statement('SELECT highest_ms FROM clock').get() as { highest_ms: number } | undefined
    return row?.highest_ms ?? 0
  }
}
