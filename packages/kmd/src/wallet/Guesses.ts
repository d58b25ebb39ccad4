/**
 * Counts wrong passwords for one wallet or handle and delays further checks. The first few are free, because people
 * mistype. After that, each wrong password doubles the wait before the next check.
 *
 * There are two counts. A correct password resets `streak` but not `level`, which decreases by one per minute.
 * Otherwise, a program that signs with the correct password would reset an attacker's count.
 *
 * A check counts when it begins, and is uncounted if the password is correct. Otherwise, as many guesses as fit into
 * one derivation would pass before the first one counts.
 */
import { KmdError } from '../errors.js'

export type Count = { streak: number; level: number; lastFailureMs: number }

/** Shared by all counts of a throttle. */
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
/** Responses are delayed up to this time. A longer wait is a 429 with Retry-After. */
const longestHoldMs = 10_000
/** Together with the free guesses that run concurrently: 64. */
const mostWaiting = 61

/** The wait after the last failure. `steps` is the number of failures beyond the free ones. */
export function waitAfter(steps: number): number {
  return steps < 0 ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** steps)
}

export class Guesses {
  readonly #clock: Clock
  /** The wait caused by other handles. */
  readonly #otherWaitMs: () => number
  #streak = 0
  #level = 0
  #lastFailureMs = 0
  #running = 0
  #waiting = 0
  /** Resolves when the last waiting attempt may begin. */
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

  /** The current level, after its decrease over time. */
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

  /** Whether all counts are zero. */
  get isClean(): boolean {
    return this.#waiting === 0 && this.#running === 0 && this.#streak === 0 && this.level() === 0
  }

  /** Whether a check may run now without queueing. This is the usual case. */
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

  /** Returns whether a count changed. */
  succeed(): boolean {
    const changes = this.#streak > 0
    this.#streak = 0
    return changes
  }

  /** Waits until a check may run, and claims it. Call `end` afterwards. */
  async begin(): Promise<void> {
    if (this.#waiting > 0 || !this.#mayBegin()) await this.#queue()
    else this.#running++
  }

  end(): void {
    this.#running--
    this.#onEnd()
  }

  /** The remaining free guesses may run concurrently. After that, checks run one at a time, each after its own wait. */
  #mayBegin(): boolean {
    const isFree = this.#steps(this.#running) < 0 && this.#otherWaitMs() === 0
    return isFree || (this.#running === 0 && this.waitMs() === 0)
  }

  async #queue(): Promise<void> {
    const waitMs = this.waitMs()
    if (waitMs > longestHoldMs) throw tooMany(waitMs)
    // If many clients unlock the wallet at once, perhaps none of their passwords was wrong.
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

  /** Called only by the first attempt in the queue. */
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

  /**
   * The number of failures beyond the free ones if the `claimed` checks also failed; negative if free guesses remain.
   */
  #steps(claimed: number): number {
    return Math.max(this.#streak + claimed - freeStreak, Math.floor(this.level() + claimed) - freeLevel)
  }

  /**
   * If the clock was set back, a wallet must not stay locked longer than its wait, so time counts from the new value.
   */
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
