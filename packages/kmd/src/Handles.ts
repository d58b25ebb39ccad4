/**
 * Manages wallet handles: unlocking a wallet returns one, and every key operation requires one. Handles are in memory
 * only, so a restart ends them all. Use does not extend a handle; renewing does, up to the maximum lifetime if there is
 * one. An expired handle is ended when it expires, not when it is next used, because keys must not stay in memory
 * longer than configured. The expiry is remembered for a minute, because the reference reports it to the first request
 * that comes too late.
 */

import { timingSafeEqual } from 'node:crypto'
import { BoundedMap } from '@latchkey/algorand'
import { KmdError } from './errors.js'
import * as Secret from './wallet/Secret.js'
import type { UnlockedWallet } from './wallet/UnlockedWallet.js'

export type Lifetimes = {
  /** From opening or renewing to expiry. */
  lifetimeMs: number
  /** From opening to expiry, including renewals. @default none */
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
/** Handles that expire shortly after one another are ended together, because each sweep visits all of them. */
const sweepGapMs = 20
/** A timer cannot be set for longer than 24 days. */
const longestTimerMs = 3_600_000

export class Handles {
  readonly #handles = new Map<string, Handle>()
  /** Recently expired handles, oldest first. Their wallets are locked. */
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

  /** Changes the lifetimes. An open handle may end sooner as a result, but never later than before. */
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

  /** Opens a handle that owns the wallet. The wallet is locked when the handle ends. */
  open(wallet: UnlockedWallet): string {
    if (this.#handles.size >= this.#limit) this.sweep()
    if (this.#handles.size >= this.#limit) {
      wallet.lock()
      throw new KmdError('too_many_handles')
    }
    const token = createHandleToken()
    const latestExpiryMs = this.#now() + this.#maxLifetimeMs
    const expiresAtMs = this.#expiry(latestExpiryMs)
    this.#handles.set(token.id, { secret: Buffer.from(token.secret), wallet, expiresAtMs, latestExpiryMs })
    this.#sweepAt(expiresAtMs)
    return formatHandleToken(token)
  }

  /** The unlocked wallet of a handle that has not expired. */
  wallet(token: string): UnlockedWallet {
    return this.#live(token).wallet
  }

  expiresSeconds(token: string): number {
    return Math.trunc((this.#live(token).expiresAtMs - this.#now()) / 1000)
  }

  /** Renews a handle for its whole lifetime, or for the remainder of the maximum lifetime. */
  renew(token: string): void {
    const handle = this.#live(token)
    handle.expiresAtMs = this.#expiry(handle.latestExpiryMs)
  }

  /** Ends a handle, including an expired one that was not swept yet. */
  release(token: string): void {
    const { id } = this.#find(token)
    if (!this.#expired.delete(id)) this.#end(id)
  }

  /** Ends every handle of a wallet, because its password changed or it is being removed. */
  releaseWallet(walletId: Uint8Array): void {
    for (const [id, { wallet }] of this.#handles) if (wallet.id.equals(walletId)) this.#end(id)
  }

  /** Ends expired handles. Also runs automatically when the next one expires. */
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

  /** Schedules a sweep after `expiresAtMs`. Renewing sets no timer, because the expiry never moves earlier. */
  #sweepAt(expiresAtMs: number): void {
    const atMs = Math.max(expiresAtMs, this.#sweptAtMs + sweepGapMs)
    if (atMs >= this.#sweepAtMs) return
    this.#sweepAtMs = atMs
    clearTimeout(this.#sweeper)
    // A handle is valid up to and including its last instant.
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

  /** `handle` is undefined if it has expired. */
  #find(token: string): { id: string; handle: Handle | undefined } {
    const given = parseHandleToken(token)
    const { id } = given
    const handle = this.#handles.get(id)
    const known = handle ?? this.#expired.get(id)
    if (known === undefined) throw new KmdError('handle_unknown')
    if (!hasHandleSecret(given, known.secret)) throw new KmdError('handle_wrong_secret')
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

/** The text form of a wallet handle: an id and a secret, as written by the reference. */
type HandleToken = { readonly id: string; readonly secret: string }

const idLength = 8
const secretLength = 32

export function createHandleToken(): HandleToken {
  return {
    id: Secret.randomBytes(idLength).toString('hex'),
    secret: Secret.randomBytes(secretLength).toString('hex'),
  }
}

export function formatHandleToken({ id, secret }: HandleToken): string {
  return `${id}.${secret}`
}

/** @throws {@link KmdError} `wrong_token_parts`, `bad_handle_id`, `bad_handle_secret` */
export function parseHandleToken(text: string): HandleToken {
  const dot = text.indexOf('.')
  if (dot < 0) throw new KmdError('wrong_token_parts')
  const id = text.slice(0, dot)
  const secret = text.slice(dot + 1)
  if (!isLowerHex(id, 2 * idLength)) throw new KmdError('bad_handle_id')
  if (!isLowerHex(secret, 2 * secretLength)) throw new KmdError('bad_handle_secret')
  return { id, secret }
}

/** Shared: a comparison is synchronous. */
const compared = Buffer.alloc(2 * secretLength)

/** Compares in constant time with the stored secret. */
export function hasHandleSecret({ secret }: HandleToken, stored: Buffer): boolean {
  compared.write(secret, 'latin1')
  const isEqual = timingSafeEqual(compared, stored)
  compared.fill(0)
  return isEqual
}

function isLowerHex(text: string, length: number): boolean {
  if (text.length !== length) return false
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (!((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66))) return false
  }
  return true
}
