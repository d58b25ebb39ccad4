/** Tickets in links to the console. Each opens one session, once, and by default within a minute. */
import * as Bearer from './Bearer.js'

export type TicketsOptions = {
  /** Milliseconds of a clock that only goes forward. */
  now?: () => number
}

export const defaultLifetimeMs = 60_000
export const limit = 8

export class Tickets {
  readonly #now: () => number
  /** When each ends, by its fingerprint, the oldest first. */
  readonly #expiresAtMs = new Map<string, number>()

  constructor({ now = () => performance.now() }: TicketsOptions = {}) {
    this.#now = now
  }

  /** One too many replaces the oldest: the latest request is the one that a person waits for. */
  create(lifetimeMs: number = defaultLifetimeMs): string {
    const [oldest] = this.#expiresAtMs.keys()
    if (this.#expiresAtMs.size >= limit) this.#expiresAtMs.delete(oldest!)
    const ticket = Bearer.make()
    this.#expiresAtMs.set(Bearer.fingerprint(ticket)!, this.#now() + lifetimeMs)
    return ticket
  }

  /** Whether the ticket is good. It is good no more afterwards. */
  redeem(ticket: string): boolean {
    const fingerprint = Bearer.fingerprint(ticket)
    const expiresAtMs = fingerprint === undefined ? undefined : this.#expiresAtMs.get(fingerprint)
    if (fingerprint === undefined || expiresAtMs === undefined) return false
    this.#expiresAtMs.delete(fingerprint)
    return this.#now() < expiresAtMs
  }

  clear(): void {
    this.#expiresAtMs.clear()
  }
}
