/**
 * Delays checks after wrong passwords (see `Guesses`). There are two independent counts:
 *
 * - per wallet, for operations that need only the API token and a password: unlocking, renaming, changing the password
 *   and deleting a wallet. A file stores these counts, so that they survive a restart.
 * - per handle, for operations that need a handle and the password again. A handle proves that its owner knew the
 *   password, so neither guesses by others nor guesses on another handle may block that owner. All handles of a wallet
 *   share an additional bound (see `HandleGuesses`).
 */
import { readFileSync } from 'node:fs'
import { BoundedMap } from '@latchkey/algorand'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { KmdError } from '../errors.js'
import { type Clock, type Count, freeLevel, freeStreak, Guesses, waitAfter } from './Guesses.js'
import { attemptWhileLocked } from './Sqlite.js'
import type { UnlockedWallet } from './UnlockedWallet.js'

export type ThrottleOptions = {
  /** The file that stores the counts. @default none: counts are in memory only */
  file?: string
  /** Wall-clock time in milliseconds, because the counts outlive the process. @default Date.now */
  now?: () => number
  sleep?: (ms: number) => Promise<void>
  /** Called if the counts could not be saved. */
  onSaveFailure?: (error: unknown) => void
}

const mostWallets = 10_000

export class PasswordThrottle {
  readonly #wallets = new Map<string, Guesses>()
  readonly #handles: HandleGuesses
  readonly #clock: Clock
  readonly #file: string | undefined
  readonly #onSaveFailure: ((error: unknown) => void) | undefined
  #close = (): void => {}

  constructor(options: ThrottleOptions = {}) {
    const closed = new Promise<never>((_resolve, reject) => {
      this.#close = () => reject(new KmdError('stopping'))
    })
    closed.catch(() => {})
    this.#clock = {
      now: options.now ?? Date.now,
      sleep: options.sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms))),
      closed,
    }
    this.#handles = new HandleGuesses(this.#clock)
    this.#file = options.file
    this.#onSaveFailure = options.onSaveFailure
    this.#load()
  }

  /** Rejects waiting attempts. */
  close(): void {
    this.#close()
  }

  /** Whether a password for this wallet would be checked without a wait. */
  isOpen(wallet: string): boolean {
    return this.#wallets.get(wallet)?.isOpen ?? true
  }

  /** Runs a check as soon as the waits allow. A check that fails with `wrong_password` counts as a wrong password. */
  async attempt<T>(wallet: string, check: () => T | Promise<T>): Promise<T> {
    const guesses = this.#guessesFor(wallet)
    await guesses.begin()
    try {
      const result = await check()
      if (guesses.succeed()) this.#save()
      return result
    } catch (error) {
      if (error instanceof KmdError && error.code === 'wrong_password') {
        guesses.fail()
        this.#save()
      }
      throw error
    } finally {
      guesses.end()
      if (guesses.isClean) this.#wallets.delete(wallet)
    }
  }

  /**
   * Runs `work` on the file of a handle's wallet if the password is correct. After wrong passwords on the same handle, the
   * check is delayed. Repeated blank passwords are only one guess, so they are neither counted nor delayed, as at
   * unlocking.
   *
   * Returns synchronous results without a promise.
   *
   * @throws {@link KmdError} `wrong_password` or `too_many_wrong_passwords`.
   */
  withPassword<T>(wallet: UnlockedWallet, password: Uint8Array, work: () => T): T | Promise<T> {
    const check = (): void => {
      if (!wallet.isPassword(password)) throw new KmdError('wrong_password')
    }
    const run = (): T | Promise<T> =>
      attemptWhileLocked(() => {
        wallet.requireSamePassword()
        return work()
      })
    const checked = password.length === 0 ? check() : this.#handles.attempt(wallet, check)
    return checked instanceof Promise ? checked.then(run) : run()
  }

  #guessesFor(wallet: string): Guesses {
    let guesses = this.#wallets.get(wallet)
    if (guesses === undefined) {
      guesses = new Guesses(this.#clock)
      this.#wallets.set(wallet, guesses)
    }
    return guesses
  }

  #load(): void {
    if (this.#file === undefined) return
    try {
      const stored = JSON.parse(readFileSync(this.#file, 'utf8')) as Record<string, Partial<Count> | null>
      for (const [wallet, count] of Object.entries(stored).slice(0, mostWallets)) {
        const { streak, level, lastFailureMs } = count ?? {}
        if (isCount(streak) && isCount(level) && isCount(lastFailureMs)) {
          this.#guessesFor(wallet).restore({ streak, level, lastFailureMs })
        }
      }
    } catch (error) {
      // A missing file is normal. A damaged file must not prevent unlocking.
      if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
    }
  }

  #save(): void {
    if (this.#file === undefined) return
    const counts: Record<string, Count> = {}
    for (const [wallet, guesses] of this.#wallets) {
      if (guesses.streak > 0 || guesses.level() > 0) counts[wallet] = guesses.count()
    }
    try {
      AtomicFile.replaceSync(this.#file, JSON.stringify(counts))
    } catch (error) {
      // A full disk must not prevent unlocking. The counts stay in memory and are lost at a restart.
      this.#onSaveFailure?.(error)
    }
  }
}

const isCount = (value: unknown): value is number => typeof value === 'number' && value >= 0

/** Identifies an open handle. `key` is the wallet's key. */
export type Handle = { readonly key: string }

/** Per wallet: the maximum number of handles. */
const mostHandles = 16_384

/**
 * Throttles wrong passwords on handles. Each handle has its own count, kept in memory like the handle, so guessing on
 * one handle does not delay the others.
 *
 * A bound per wallet protects against a thief with many handles: once a wallet's handles have recently failed thirty
 * times together, every handle that has failed waits for all of them. At most three failures per handle count, so no
 * single handle can cause such a wait. A handle whose last password was correct never waits for others.
 */
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
