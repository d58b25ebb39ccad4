/** Sessions of the console: an open page uses a session token instead of the API token. In memory only. */
import { createHash } from 'node:crypto'
import { BoundedMap } from '@latchkey/algorand'
import * as Secret from '../wallet/Secret.js'

export type SessionsOptions = {
  /** A monotonic clock, in milliseconds. @default performance.now */
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
  /** Evicts the least recently used session. */
  readonly #sessions = new BoundedMap<string, Session>(limit)

  constructor({ now = () => performance.now() }: SessionsOptions = {}) {
    this.#now = now
  }

  /** Returns the token of a new session. Beyond the limit, ends the least recently used session. */
  open(): string {
    const token = makeBearer()
    const fingerprint = fingerprintOf(token)!
    const now = this.#now()
    this.#sessions.set(fingerprint, { fingerprint, beganAtMs: now, usedAtMs: now })
    return token
  }

  /**
   * Returns the live session of a token and counts as a use of it.
   *
   * @param options `isWaiting`: a page waits for an event automatically. This does not count as a use, because its user
   * may be away.
   */
  use(token: string | undefined, { isWaiting = false }: { isWaiting?: boolean } = {}): Session | undefined {
    const fingerprint = fingerprintOf(token)
    const session = fingerprint === undefined ? undefined : this.#sessions.touch(fingerprint)
    if (session === undefined) return undefined
    const now = this.#now()
    if (now >= session.usedAtMs + idleMs || now >= session.beganAtMs + longestMs) {
      this.close(session)
      return undefined
    }
    if (!isWaiting) session.usedAtMs = now
    return session
  }

  close({ fingerprint }: Session): void {
    this.#sessions.delete(fingerprint)
  }

  clear(): void {
    this.#sessions.clear()
  }
}

/** The length of a bearer secret in characters: 32 bytes in URL-safe base64. */
const bearerLength = 43

/** Creates the secret of a session or ticket. Only its hash is stored, so that the time of a lookup reveals nothing. */
export function makeBearer(): string {
  return Secret.randomBytes(32).toString('base64url')
}

/** The hash of a bearer secret; undefined, at no cost, for text that `makeBearer` cannot have produced. */
export function fingerprintOf(text: string | undefined): string | undefined {
  if (text?.length !== bearerLength) return undefined
  return createHash('sha256').update(text, 'latin1').digest('base64')
}
