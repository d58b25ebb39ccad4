/**
 * Wallet handles: unlocking a wallet returns one, and every key operation requires one. They are in memory only, so a
 * restart ends them all. Ordinary use does not prolong one; renewing does.
 */
import { timingSafeEqual } from 'node:crypto'
import { KmdError } from './errors.js'
import * as Secret from './wallet/Secret.js'
import type { UnlockedWallet } from './wallet/UnlockedWallet.js'

export type HandlesOptions = {
  lifetimeMs: number
  /** A monotonic clock, in milliseconds. @default performance.now */
  now?: () => number
  limit?: number
}

type Handle = { secret: Buffer; wallet: UnlockedWallet; expiresAtMs: number }

const idLength = 8
const secretLength = 32
const sweepEveryMs = 60_000

export class Handles {
  readonly #handles = new Map<string, Handle>()
  readonly #lifetimeMs: number
  readonly #now: () => number
  readonly #limit: number
  readonly #sweeper: NodeJS.Timeout

  constructor(options: HandlesOptions) {
    this.#lifetimeMs = options.lifetimeMs
    this.#now = options.now ?? (() => performance.now())
    this.#limit = options.limit ?? 16_384
    this.#sweeper = setInterval(() => this.sweep(), sweepEveryMs).unref()
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
    const id = Secret.randomBytes(idLength).toString('hex')
    const secret = Secret.randomBytes(secretLength).toString('hex')
    this.#handles.set(id, { secret: Buffer.from(secret), wallet, expiresAtMs: this.#now() + this.#lifetimeMs })
    return `${id}.${secret}`
  }

  /** The unlocked wallet behind a handle that has not expired. */
  wallet(token: string): UnlockedWallet {
    return this.#live(token).wallet
  }

  expiresSeconds(token: string): number {
    return Math.trunc((this.#live(token).expiresAtMs - this.#now()) / 1000)
  }

  renew(token: string): void {
    this.#live(token).expiresAtMs = this.#now() + this.#lifetimeMs
  }

  /** Ends a handle, also one that has expired and was not swept yet. */
  release(token: string): void {
    const { id } = this.#find(token)
    this.#end(id)
  }

  /** Ends every handle of a wallet: its password changed, or it is being removed. */
  releaseWallet(walletId: Uint8Array): void {
    for (const [id, { wallet }] of this.#handles) if (wallet.id.equals(walletId)) this.#end(id)
  }

  sweep(): void {
    const now = this.#now()
    for (const [id, { expiresAtMs }] of this.#handles) if (now > expiresAtMs) this.#end(id)
  }

  close(): void {
    clearInterval(this.#sweeper)
    for (const id of [...this.#handles.keys()]) this.#end(id)
  }

  #live(token: string): Handle {
    const { id, handle } = this.#find(token)
    if (this.#now() > handle.expiresAtMs) {
      this.#end(id)
      throw new KmdError('handle_expired')
    }
    return handle
  }

  #find(token: string): { id: string; handle: Handle } {
    const dot = token.indexOf('.')
    if (dot < 0) throw new KmdError('wrong_token_parts')
    const id = token.slice(0, dot)
    const secret = token.slice(dot + 1)
    if (!isLowerHex(id, 2 * idLength)) throw new KmdError('bad_handle_id')
    if (!isLowerHex(secret, 2 * secretLength)) throw new KmdError('bad_handle_secret')
    const handle = this.#handles.get(id)
    if (handle === undefined) throw new KmdError('handle_unknown')
    if (!timingSafeEqual(Buffer.from(secret, 'latin1'), handle.secret)) throw new KmdError('handle_wrong_secret')
    return { id, handle }
  }

  #end(id: string): void {
    const handle = this.#handles.get(id)
    if (handle === undefined) return
    this.#handles.delete(id)
    handle.wallet.lock()
    Secret.wipe(handle.secret)
  }
}

function isLowerHex(text: string, length: number): boolean {
  if (text.length !== length) return false
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (!((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66))) return false
  }
  return true
}
