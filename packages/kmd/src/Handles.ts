/**
 * Wallet handles: unlocking a wallet returns one, and every key operation requires one. They are in memory only, so a
 * restart ends them all. Ordinary use does not prolong one; renewing does, up to the longest lifetime if there is one.
 * A handle that expires is ended when it does, not when it is next used: keys must not stay in memory longer than told. For a
 * minute it is remembered that it did, because the reference says so to the first request that comes too late.
 */
import { BoundedMap } from '@latchkey/algorand'
import { KmdError } from './errors.js'
import * as HandleToken from './HandleToken.js'
import * as Secret from './wallet/Secret.js'
import type { UnlockedWallet } from './wallet/UnlockedWallet.js'

export type Lifetimes = {
  /** From opening or renewing to expiry. */
  lifetimeMs: number
  /** From opening to expiry, however often it is renewed. @default none */
  maxLifetimeMs?: number | undefined
}

export type HandlesOptions = Lifetimes & {
  /** A monotonic clock, in milliseconds. @default performance.now */
  now?: () => number
  limit?: number
}

type Handle = { secret: Buffer; wallet: UnlockedWallet; expiresAtMs: number; latestExpiryMs: number }
type Expired = { secret: Buffer; forgetAtMs: number }

const rememberMs = 60_000
/** Many handles that expire one after the other are ended together, as each sweep looks at all of them. */
const sweepGapMs = 20
/** A timer cannot be set for longer than 24 days. */
const longestTimerMs = 3_600_000

export class Handles {
  readonly #handles = new Map<string, Handle>()
  /** Those that expired lately, oldest first. Their wallets are locked. */
  readonly #expired: BoundedMap<string, Expired>
  #lifetimeMs: number
  #maxLifetimeMs: number
  readonly #now: () => number
  readonly #limit: number
  #sweeper: NodeJS.Timeout | undefined
  #sweepAtMs = Number.POSITIVE_INFINITY
  #sweptAtMs = Number.NEGATIVE_INFINITY

  constructor(options: HandlesOptions) {
    this.#lifetimeMs = options.lifetimeMs
    this.#maxLifetimeMs = options.maxLifetimeMs ?? Number.POSITIVE_INFINITY
    this.#now = options.now ?? (() => performance.now())
    this.#limit = options.limit ?? 16_384
    this.#expired = new BoundedMap(this.#limit)
  }

  /** Changes the lifetimes. A handle that is open may end sooner by that, never later than it was going to. */
  configure({ lifetimeMs, maxLifetimeMs = Number.POSITIVE_INFINITY }: Lifetimes): void {
    const now = this.#now()
    for (const handle of this.#handles.values()) {
      const openedAtMs = Number.isFinite(this.#maxLifetimeMs) ? handle.latestExpiryMs - this.#maxLifetimeMs : now
      handle.latestExpiryMs = Math.min(handle.latestExpiryMs, openedAtMs + maxLifetimeMs)
      handle.expiresAtMs = Math.min(handle.expiresAtMs, now + lifetimeMs, handle.latestExpiryMs)
    }
    this.#lifetimeMs = lifetimeMs
    this.#maxLifetimeMs = maxLifetimeMs
    this.sweep()
  }

  get size(): number {
    return this.#handles.size
  }

  /** Opens a handle that owns the wallet: the wallet is locked when the handle ends. */
  open(wallet: UnlockedWallet): string {
    if (this.#handles.size >= this.#limit) this.sweep()
    if (this.#handles.size >= this.#limit) {
      wallet.lock()
      throw new KmdError('too_many_handles')
    }
    const token = HandleToken.create()
    const latestExpiryMs = this.#now() + this.#maxLifetimeMs
    const expiresAtMs = this.#expiry(latestExpiryMs)
    this.#handles.set(token.id, { secret: Buffer.from(token.secret), wallet, expiresAtMs, latestExpiryMs })
    this.#sweepAt(expiresAtMs)
    return HandleToken.format(token)
  }

  /** The unlocked wallet behind a handle that has not expired. */
  wallet(token: string): UnlockedWallet {
    return this.#live(token).wallet
  }

  expiresSeconds(token: string): number {
    return Math.trunc((this.#live(token).expiresAtMs - this.#now()) / 1000)
  }

  /** Gives a handle its whole lifetime again, or what the longest lifetime leaves of it. */
  renew(token: string): void {
    const handle = this.#live(token)
    handle.expiresAtMs = this.#expiry(handle.latestExpiryMs)
  }

  /** Ends a handle, also one that has expired and was not swept yet. */
  release(token: string): void {
    const { id } = this.#find(token)
    if (!this.#expired.delete(id)) this.#end(id)
  }

  /** Ends every handle of a wallet: its password changed, or it is being removed. */
  releaseWallet(walletId: Uint8Array): void {
    for (const [id, { wallet }] of this.#handles) if (wallet.id.equals(walletId)) this.#end(id)
  }

  /** Ends the handles that have expired. It also runs by itself when the next one expires. */
  sweep(): void {
    const now = this.#now()
    let next = Number.POSITIVE_INFINITY
    for (const [id, { expiresAtMs }] of this.#handles) {
      if (now > expiresAtMs) this.#expire(id, now)
      else if (expiresAtMs < next) next = expiresAtMs
    }
    for (const [id, { forgetAtMs }] of this.#expired) {
      if (now <= forgetAtMs) {
        next = Math.min(next, forgetAtMs)
        break
      }
      this.#expired.delete(id)
    }
    this.#sweptAtMs = now
    this.#sweepAtMs = Number.POSITIVE_INFINITY
    this.#sweepAt(next)
  }

  close(): void {
    clearTimeout(this.#sweeper)
    for (const id of [...this.#handles.keys()]) this.#end(id)
  }

  #expiry(latestExpiryMs: number): number {
    return Math.min(this.#now() + this.#lifetimeMs, latestExpiryMs)
  }

  /** Makes sure that there is a sweep once `expiresAtMs` has passed. Renewing sets no timer: it never comes earlier. */
  #sweepAt(expiresAtMs: number): void {
    const atMs = Math.max(expiresAtMs, this.#sweptAtMs + sweepGapMs)
    if (atMs >= this.#sweepAtMs) return
    this.#sweepAtMs = atMs
    clearTimeout(this.#sweeper)
    // A handle lives to the end of its last instant.
    const delayMs = Math.min(longestTimerMs, Math.max(0, Math.ceil(atMs - this.#now())) + 1)
    this.#sweeper = setTimeout(() => this.sweep(), delayMs).unref()
  }

  #live(token: string): Handle {
    const { id, handle } = this.#find(token)
    if (handle !== undefined && this.#now() <= handle.expiresAtMs) return handle
    this.#expired.delete(id)
    this.#end(id)
    throw new KmdError('handle_expired')
  }

  /** Without `handle` it has expired. */
  #find(token: string): { id: string; handle: Handle | undefined } {
    const given = HandleToken.parse(token)
    const { id } = given
    const handle = this.#handles.get(id)
    const known = handle ?? this.#expired.get(id)
    if (known === undefined) throw new KmdError('handle_unknown')
    if (!HandleToken.hasSecret(given, known.secret)) throw new KmdError('handle_wrong_secret')
    return { id, handle }
  }

  #expire(id: string, now: number): void {
    const { secret } = this.#handles.get(id)!
    this.#expired.set(id, { secret: Buffer.from(secret), forgetAtMs: now + rememberMs })
    this.#end(id)
  }

  #end(id: string): void {
    const handle = this.#handles.get(id)
    if (handle === undefined) return
    this.#handles.delete(id)
    handle.wallet.lock()
    Secret.wipe(handle.secret)
  }
}
