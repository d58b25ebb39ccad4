/**
 * Delays after wrong passwords. The first few are free, because people mistype; after that each one doubles the wait
 * before the next check. Failures are counted per wallet, in a file so that they survive a restart, and count the same
 * for unlocking and for operations with a handle.
 *
 * There are two counts. A correct password resets `streak`. It does not reset `level`, which decreases by one a minute:
 * otherwise a program that signs with the correct password would reset the streak of an attacker.
 */
import { readFileSync } from 'node:fs'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { KmdError } from '../errors.js'

export type ThrottleOptions = {
  /** The file of the counts. @default none: counts are in memory only */
  file?: string
  /** Wall-clock time in milliseconds, because the counts outlive the process. @default Date.now */
  now?: () => number
  sleep?: (ms: number) => Promise<void>
  /** Called when the counts could not be saved. */
  onSaveFailure?: (error: unknown) => void
}

type Count = { streak: number; level: number; lastFailureMs: number }
type Wallet = Count & { waiting: number; running: number; turn: Promise<void> }

const freeStreak = 3
const freeLevel = 30
const levelStepMs = 60_000
const firstWaitMs = 250
const longestWaitMs = 300_000
/** A response is delayed up to this; a longer wait is 429 with Retry-After. */
const longestHoldMs = 10_000
const mostWaiting = 32
const mostAtOnce = 16
const mostWallets = 10_000

export class PasswordThrottle {
  readonly #wallets = new Map<string, Wallet>()
  readonly #file: string | undefined
  readonly #now: () => number
  readonly #sleep: (ms: number) => Promise<void>
  readonly #onSaveFailure: ((error: unknown) => void) | undefined

  #close = (): void => {}
  readonly #closed = new Promise<never>((_resolve, reject) => {
    this.#close = () => reject(new KmdError('stopping'))
  })

  constructor(options: ThrottleOptions = {}) {
    this.#closed.catch(() => {})
    this.#file = options.file
    this.#now = options.now ?? Date.now
    this.#sleep = options.sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)))
    this.#onSaveFailure = options.onSaveFailure
    this.#load()
  }

  /** Rejects waiting attempts. */
  close(): void {
    this.#close()
  }

  /** Whether a password for this wallet may be checked right now, without queueing: the usual case. */
  isOpen(wallet: string): boolean {
    const count = this.#wallets.get(wallet)
    return count === undefined || (count.running === 0 && count.waiting === 0 && this.#waitMs(count) === 0)
  }

  /** Counts a check that ran synchronously after `isOpen`. */
  record(wallet: string, isRight: boolean): void {
    if (isRight) this.#succeed(wallet)
    else this.#fail(wallet)
  }

  /** Runs a check once it may run. A check that fails with `wrong_password` counts as a wrong password. */
  async attempt<T>(wallet: string, check: () => T | Promise<T>): Promise<T> {
    const state = this.#enter(wallet)
    const mustQueue = this.#waitMs(state) > 0 || state.running >= mostAtOnce || state.streak >= freeStreak
    const done = mustQueue ? await this.#queue(state) : undefined
    state.running++
    try {
      const result = await check()
      this.#succeed(wallet)
      return result
    } catch (error) {
      if (error instanceof KmdError && error.code === 'wrong_password') this.#fail(wallet)
      throw error
    } finally {
      state.running--
      done?.()
      this.#leave(wallet, state)
    }
  }

  /** One at a time from here on: several guesses must not share one wait. */
  async #queue(state: Wallet): Promise<() => void> {
    const waitMs = this.#waitMs(state)
    if (waitMs > longestHoldMs || state.waiting >= mostWaiting) {
      throw new KmdError('too_many_wrong_passwords', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
    }
    state.waiting++
    const before = state.turn
    let done = (): void => {}
    state.turn = new Promise((resolve) => {
      done = resolve
    })
    await before
    try {
      const left = this.#waitMs(state)
      if (left > longestHoldMs) {
        throw new KmdError('too_many_wrong_passwords', { retryAfterSeconds: Math.ceil(left / 1000) })
      }
      if (left > 0) await Promise.race([this.#sleep(left), this.#closed])
    } catch (error) {
      done()
      throw error
    } finally {
      state.waiting--
    }
    return done
  }

  #waitMs(count: Count): number {
    const steps = Math.max(count.streak - freeStreak, Math.floor(this.#level(count)) - freeLevel)
    if (steps < 0) return 0
    return Math.max(0, Math.min(longestWaitMs, firstWaitMs * 2 ** steps) - this.#elapsedMs(count))
  }

  #level(count: Count): number {
    return Math.max(0, count.level - this.#elapsedMs(count) / levelStepMs)
  }

  /** Never negative: a clock that was set back must not lock a wallet for longer than its wait. */
  #elapsedMs(count: Count): number {
    return Math.max(0, this.#now() - count.lastFailureMs)
  }

  #enter(wallet: string): Wallet {
    let state = this.#wallets.get(wallet)
    if (state === undefined) {
      state = { streak: 0, level: 0, lastFailureMs: 0, waiting: 0, running: 0, turn: Promise.resolve() }
      this.#wallets.set(wallet, state)
    }
    return state
  }

  #leave(wallet: string, state: Wallet): void {
    const idle = state.waiting === 0 && state.running === 0
    if (idle && state.streak === 0 && this.#level(state) === 0) this.#wallets.delete(wallet)
  }

  #fail(wallet: string): void {
    const state = this.#enter(wallet)
    state.level = this.#level(state) + 1
    state.streak++
    state.lastFailureMs = this.#now()
    this.#save()
  }

  #succeed(wallet: string): void {
    const state = this.#wallets.get(wallet)
    if (state === undefined || state.streak === 0) return
    state.streak = 0
    this.#save()
  }

  #load(): void {
    if (this.#file === undefined) return
    try {
      const stored = JSON.parse(readFileSync(this.#file, 'utf8')) as Record<string, Partial<Count> | null>
      for (const [wallet, count] of Object.entries(stored).slice(0, mostWallets)) {
        const { streak, level, lastFailureMs } = count ?? {}
        if (![streak, level, lastFailureMs].every((value) => typeof value === 'number' && value >= 0)) continue
        Object.assign(this.#enter(wallet), { streak, level, lastFailureMs: Math.min(lastFailureMs!, this.#now()) })
      }
    } catch (error) {
      // A missing file is the usual case. A damaged one must not prevent unlocking.
      if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
    }
  }

  #save(): void {
    if (this.#file === undefined) return
    const counts: Record<string, Count> = {}
    for (const [wallet, state] of this.#wallets) {
      const { streak, level, lastFailureMs } = state
      if (streak > 0 || this.#level(state) > 0) counts[wallet] = { streak, level, lastFailureMs }
    }
    try {
      AtomicFile.replaceSync(this.#file, JSON.stringify(counts))
    } catch (error) {
      // A full disk must not prevent unlocking. The counts in memory remain; a restart loses them.
      this.#onSaveFailure?.(error)
    }
  }
}
