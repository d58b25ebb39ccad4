/**
 * Throttles wrong passwords on handles. Each handle has its own count, kept in memory like the handle, so guessing on
 * one handle does not delay the others.
 *
 * A bound per wallet protects against a thief with many handles: once a wallet's handles have recently failed thirty
 * times together, every handle that has failed waits for all of them. At most three failures per handle count, so no
 * single handle can cause such a wait. A handle whose last password was correct never waits for others.
 */
import { BoundedMap } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { type Clock, freeLevel, freeStreak, Guesses, waitAfter } from './Guesses.js'

/** Identifies an open handle. `key` is the wallet's key. */
export type Handle = { readonly key: string }

const mostWallets = 10_000
/** Per wallet: the maximum number of handles. */
const mostHandles = 16_384

export class HandleGuesses {
  readonly #clock: Clock
  readonly #handles = new WeakMap<Handle, Guesses>()
  /** By wallet. Counts outlive their handles, so releasing a handle does not reset its count. */
  readonly #failed = new BoundedMap<string, BoundedMap<Guesses, true>>(mostWallets)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  attempt(handle: Handle, check: () => void): void | Promise<void> {
    const guesses = this.#handles.get(handle)
    if (guesses !== undefined && !guesses.isOpen) return this.#wait(handle, guesses, check)
    this.#run(handle, guesses, check)
  }

  async #wait(handle: Handle, guesses: Guesses, check: () => void): Promise<void> {
    await guesses.begin()
    try {
      this.#run(handle, guesses, check)
    } finally {
      guesses.end()
    }
  }

  #run(handle: Handle, guesses: Guesses | undefined, check: () => void): void {
    try {
      check()
      guesses?.succeed()
    } catch (error) {
      if (error instanceof KmdError && error.code === 'wrong_password') this.#fail(handle, guesses)
      throw error
    }
  }

  #fail(handle: Handle, known: Guesses | undefined): void {
    const guesses = known ?? this.#watch(handle)
    guesses.fail()
    const failed = this.#failed.touch(handle.key) ?? new BoundedMap<Guesses, true>(mostHandles)
    failed.set(guesses, true)
    this.#failed.set(handle.key, failed)
  }

  #watch(handle: Handle): Guesses {
    const guesses: Guesses = new Guesses(this.#clock, () => (guesses.streak === 0 ? 0 : this.#walletWaitMs(handle.key)))
    this.#handles.set(handle, guesses)
    return guesses
  }

  #walletWaitMs(wallet: string): number {
    const failed = this.#failed.get(wallet)
    let level = 0
    let lastFailureMs = 0
    for (const guesses of failed?.keys() ?? []) {
      const own = guesses.level()
      if (own === 0) failed?.delete(guesses)
      level += Math.min(freeStreak, own)
      lastFailureMs = Math.max(lastFailureMs, guesses.lastFailureMs)
    }
    return waitAfter(Math.floor(level) - freeLevel) - Math.max(0, this.#clock.now() - lastFailureMs)
  }
}
