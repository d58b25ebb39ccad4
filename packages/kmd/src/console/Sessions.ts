/** Sessions of the console: a token in the place of the API token, for a page that is open. In memory only. */
import * as Bearer from './Bearer.js'

export type SessionsOptions = {
  /** Milliseconds of a clock that only goes forward. */
  now?: () => number
}

export type Session = {
  readonly fingerprint: string
  readonly beganAtMs: number
  usedAtMs: number
}

export const idleMs = 30 * 60_000
export const longestMs = 12 * 60 * 60_000
export const limit = 16

export class Sessions {
  readonly #now: () => number
  /** The one that was used longest ago first. */
  readonly #sessions = new Map<string, Session>()

  constructor({ now = () => performance.now() }: SessionsOptions = {}) {
    this.#now = now
  }

  /** The token of a new session. One too many ends the session that was used longest ago. */
  open(): string {
    const [unused] = this.#sessions.keys()
    if (this.#sessions.size >= limit) this.#sessions.delete(unused!)
    const token = Bearer.make()
    const fingerprint = Bearer.fingerprint(token)!
    const now = this.#now()
    this.#sessions.set(fingerprint, { fingerprint, beganAtMs: now, usedAtMs: now })
    return token
  }

  /** The live session of a token. Asking for it is using it. */
  use(token: string | undefined): Session | undefined {
    const fingerprint = Bearer.fingerprint(token)
    const session = fingerprint === undefined ? undefined : this.#sessions.get(fingerprint)
    if (session === undefined) return undefined
    this.#sessions.delete(session.fingerprint)
    const now = this.#now()
    if (now >= session.usedAtMs + idleMs || now >= session.beganAtMs + longestMs) return undefined
    session.usedAtMs = now
    this.#sessions.set(session.fingerprint, session)
    return session
  }

  close({ fingerprint }: Session): void {
    this.#sessions.delete(fingerprint)
  }

  clear(): void {
    this.#sessions.clear()
  }
}
