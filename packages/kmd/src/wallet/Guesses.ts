/**
 * The wrong passwords given in one place, and the waits they cost. The first few are free, because people mistype; after
 * that each one doubles the wait before the next check.
 *
 * There are two counts. A correct password resets `streak`. It does not reset `level`, which decreases by one a minute:
 * otherwise a program that signs with the correct password would reset the streak of an attacker.
 *
 * A check counts from its beginning, and is given back if the password is correct. Otherwise as many guesses as fit
 * into one derivation would pass before the first of them counts.
 */
import { KmdError } from '../errors.js'

export type Count = { streak: number; level: number; lastFailureMs: number }

/** What all counts of a throttle share. */
export type Clock = {
  now: () => number
  sleep: (ms: number) => Promise<void>
  /** Rejects when waiting attempts must end. */
  closed: Promise<never>
}

export const freeStreak = 3
export const freeLevel = 30
const levelStepMs = 60_000
const firstWaitMs = 250
const longestWaitMs = 300_000
/** A response is delayed up to this; a longer wait is 429 with Retry-After. */
const longestHoldMs = 10_000
/** With the free guesses that run at once, 64 in all. */
const mostWaiting = 61

/** The wait after the last failure; `steps` are failures beyond the free ones. */
export function waitAfter(steps: number): number {
  return steps < 0 ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** steps)
}

export class Guesses {
  readonly #clock: Clock
  /** What is waited for on account of others. */
  readonly #otherWaitMs: () => number
  #streak = 0
  #level = 0
  #lastFailureMs = 0
  #running = 0
  #waiting = 0
  /** Ends when the last of the waiting attempts may begin. */
  #turn: Promise<void> = Promise.resolve()
  #onEnd = (): void => {}

  constructor(clock: Clock, otherWaitMs: () => number = () => 0) {
    this.#clock = clock
    this.#otherWaitMs = otherWaitMs
  }

  get streak(): number {
    return this.#streak
  }

  get lastFailureMs(): number {
    return this.#lastFailureMs
  }

  /** What is left of the level. */
  level(): number {
    return Math.max(0, this.#level - this.#elapsedMs() / levelStepMs)
  }

  count(): Count {
    return { streak: this.#streak, level: this.#level, lastFailureMs: this.#lastFailureMs }
  }

  restore({ streak, level, lastFailureMs }: Count): void {
    this.#streak = streak
    this.#level = level
    this.#lastFailureMs = Math.min(lastFailureMs, this.#clock.now())
  }

  /** Whether there is nothing to remember. */
  get isClean(): boolean {
    return this.#waiting === 0 && this.#running === 0 && this.#streak === 0 && this.level() === 0
  }

  /** Whether a check may run right now, without queueing: the usual case. */
  get isOpen(): boolean {
    return this.#running === 0 && this.#waiting === 0 && this.waitMs() === 0
  }

  waitMs(): number {
    return Math.max(0, waitAfter(this.#steps(0)) - this.#elapsedMs(), this.#otherWaitMs())
  }

  fail(): void {
    this.#level = this.level() + 1
    this.#streak++
    this.#lastFailureMs = this.#clock.now()
  }

  /** Returns whether this changed anything. */
  succeed(): boolean {
    const changes = this.#streak > 0
    this.#streak = 0
    return changes
  }

  /** Waits until a check may run, and claims it. `end` must follow. */
  async begin(): Promise<void> {
    if (this.#waiting > 0 || !this.#mayBegin()) await this.#queue()
    else this.#running++
  }

  end(): void {
    this.#running--
    this.#onEnd()
  }

  /** Free guesses may run at once, as many as there are left. After that it is one at a time, each after its own wait. */
  #mayBegin(): boolean {
    const isFree = this.#steps(this.#running) < 0 && this.#otherWaitMs() === 0
    return isFree || (this.#running === 0 && this.waitMs() === 0)
  }

  async #queue(): Promise<void> {
    const waitMs = this.waitMs()
    if (waitMs > longestHoldMs) throw tooMany(waitMs)
    // Of a wallet that many unlock at once, no password may have been wrong.
    if (this.#waiting >= mostWaiting) throw this.#steps(0) < 0 ? busy() : tooMany(waitMs)
    this.#waiting++
    const before = this.#turn
    let mayFollow = (): void => {}
    this.#turn = new Promise((resolve) => {
      mayFollow = resolve
    })
    try {
      await before
      await this.#untilOpen()
      this.#running++
    } finally {
      this.#waiting--
      mayFollow()
    }
  }

  /** For the first in the queue only. */
  async #untilOpen(): Promise<void> {
    while (!this.#mayBegin()) {
      if (this.#running > 0) {
        const ended = new Promise<void>((resolve) => {
          this.#onEnd = resolve
        })
        await Promise.race([ended, this.#clock.closed])
        continue
      }
      const left = this.waitMs()
      if (left > longestHoldMs) throw tooMany(left)
      await Promise.race([this.#clock.sleep(left), this.#clock.closed])
      return
    }
  }

  /** How many failures there would be beyond the free ones if the `claimed` checks failed, too; below zero is none. */
  #steps(claimed: number): number {
    return Math.max(this.#streak + claimed - freeStreak, Math.floor(this.level() + claimed) - freeLevel)
  }

  /** A clock that was set back must not lock a wallet for longer than its wait: time passes from then on. */
  #elapsedMs(): number {
    const now = this.#clock.now()
    this.#lastFailureMs = Math.min(this.#lastFailureMs, now)
    return now - this.#lastFailureMs
  }
}

function busy(): KmdError {
  return new KmdError('derivation_busy', { retryAfterSeconds: 1 })
}

function tooMany(waitMs: number): KmdError {
  return new KmdError('too_many_wrong_passwords', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}
