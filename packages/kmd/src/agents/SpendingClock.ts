/**
 * The time that limits and expiry go by. It never goes backwards: the highest time that was used is in the file, and is the
 * earliest time after a restart. While the clock of the machine is behind it, it goes on by the time that passes.
 */
import type { StateDatabase } from '../state/StateDatabase.js'

export type SpendingClockOptions = {
  database: StateDatabase
  /** Milliseconds since 1970. */
  now?: () => number
  /** Milliseconds from any start, which pass as time does. */
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
    // Kept with its fraction: many short times would add up to nothing.
    this.#highestMs = Math.max(this.#now(), highestMs + passedMs)
    return Math.floor(this.#highestMs)
  }

  /** Writes the time that was used. Only within `StateDatabase.change`. */
  write(nowMs: number): void {
    if (nowMs <= this.#storedMs) return
    this.#database
      .statement('INSERT INTO clock (one, highest_ms) VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET highest_ms = ?1')
      .run(nowMs)
    this.#storedMs = nowMs
  }

  /** A transaction was rolled back. */
  forgetStored(): void {
    this.#storedMs = 0
  }

  #read(): number {
    if (!this.#database.exists) return 0
    const row = this.#database.statement('SELECT highest_ms FROM clock').get() as { highest_ms: number } | undefined
    return row?.highest_ms ?? 0
  }
}
