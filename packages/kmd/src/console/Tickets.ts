/** Tickets in links to the console. Each opens one session, once, by default within a minute. */
import { BoundedMap } from '@latchkey/algorand'
import { fingerprintOf, makeBearer } from './Sessions.js'

export type TicketsOptions = {
  /** A monotonic clock, in milliseconds. @default performance.now */
  now?: () => number
}

export const defaultLifetimeMs = 60_000
export const limit = 8

export class Tickets {
  readonly #now: () => number
  /** By fingerprint. Evicts the oldest, because a person waits for the latest ticket. */
  readonly #expiresAtMs = new BoundedMap<string, number>(limit)

  constructor({ now = () => performance.now() }: TicketsOptions = {}) {
    this.#now = now
  }

  /** Creates a ticket. Beyond the limit, replaces the oldest. */
  create(lifetimeMs: number = defaultLifetimeMs): string {
    const ticket = makeBearer()
    this.#expiresAtMs.set(fingerprintOf(ticket)!, this.#now() + lifetimeMs)
    return ticket
  }

  /** Whether the ticket is valid. Redeeming invalidates it. */
  redeem(ticket: string): boolean {
    const fingerprint = fingerprintOf(ticket)
    const expiresAtMs = fingerprint === undefined ? undefined : this.#expiresAtMs.get(fingerprint)
    if (fingerprint === undefined || expiresAtMs === undefined) return false
    this.#expiresAtMs.delete(fingerprint)
    return this.#now() < expiresAtMs
  }

  clear(): void {
    this.#expiresAtMs.clear()
  }
}
