/**
 * Wrong passwords on handles. Each handle has its own count, in memory as the handle is, so that guessing on one does not
 * delay the others.
 *
 * A bound for the wallet is above them, for a thief of many handles: once handles of one wallet have failed thirty times
 * lately, one that has failed waits for all of them. At most three failures of each handle count there, so that no
 * handle can bring about such a wait alone, and a handle whose last password was right never waits for others.
 */
import { BoundedMap } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { type Clock, freeLevel, freeStreak, Guesses, waitAfter } from './Guesses.js'

/** What opened handles are told apart by; `key` is the wallet's. */
export type Handle = { readonly key: string }

const mostWallets = 10_000
/** Of one wallet: as many as there can be handles. */
const mostHandles = 16_384

export class HandleGuesses {
  readonly #clock: Clock
  readonly #handles = new WeakMap<Handle, Guesses>()
  /** By wallet. The counts outlive their handles: releasing one takes nothing back. */
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
