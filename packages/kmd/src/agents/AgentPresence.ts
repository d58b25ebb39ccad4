/**
 * What the daemon noticed of its agents since it started: when each was used last, and whether it runs as the user of the
 * daemon. Such a program can read the files of the daemon, and so get around every limit.
 */
import type { ConnectionEnds } from '@latchkey/http'

export type Seen = { readonly lastUsedAtMs: number; readonly isSameUser: boolean }

export type AgentPresenceOptions = {
  /** The user at the other end of a connection; undefined where the system does not tell. @default it never does */
  userOf?: (ends: ConnectionEnds) => Promise<number | undefined>
  /** The user of the daemon. @default that of this process */
  ownUser?: number | undefined
  /** Called for an agent that runs as the user of the daemon, at most once an hour for each. */
  onSameUser?: (agentId: string) => void
  /** Milliseconds since 1970. */
  now?: () => number
}

type Entry = { lastUsedAtMs: number; isSameUser: boolean; toldAtMs: number; lookedUpAtMs: number }

/** What is known of a connection; `user` is undefined until it was looked up, or if it cannot be. */
type Peer = { user: number | undefined }

const tellEveryMs = 3_600_000
/** Connections of one agent are looked up at most so often: each look-up costs the daemon more than a signature. */
const lookUpEveryMs = 1_000
const root = 0

export class AgentPresence {
  readonly #entries = new Map<string, Entry>()
  readonly #peers = new WeakMap<ConnectionEnds, Peer>()
  readonly #options: AgentPresenceOptions
  readonly #ownUser: number | undefined
  readonly #now: () => number

  constructor(options: AgentPresenceOptions = {}) {
    this.#options = options
    this.#ownUser = 'ownUser' in options ? options.ownUser : process.getuid?.()
    this.#now = options.now ?? Date.now
  }

  /**
   * An agent made a request. The user of a connection is looked up once, and the request does not wait for it. Of an agent
   * that makes many connections, some are looked up.
   */
  used(agentId: string, ends: ConnectionEnds | undefined): void {
    const nowMs = this.#now()
    const entry = this.#entry(agentId)
    entry.lastUsedAtMs = nowMs
    if (ends === undefined) return
    const peer = this.#peers.get(ends)
    if (peer !== undefined) this.#note(agentId, peer)
    else if (!isWithin(nowMs, entry.lookedUpAtMs, lookUpEveryMs) && !this.#isTold(entry, nowMs)) {
      entry.lookedUpAtMs = nowMs
      void this.#lookUp(agentId, ends)
    }
  }

  of(agentId: string): Seen | undefined {
    return this.#entries.get(agentId)
  }

  /** The agents that were seen to run as the user of the daemon. */
  sameUserAgents(): string[] {
    return [...this.#entries].flatMap(([agentId, { isSameUser }]) => (isSameUser ? agentId : []))
  }

  async #lookUp(agentId: string, ends: ConnectionEnds): Promise<void> {
    const peer: Peer = { user: undefined }
    this.#peers.set(ends, peer)
    peer.user = await this.#options.userOf?.(ends).catch(() => undefined)
    this.#note(agentId, peer)
  }

  /** Root can read the files too. */
  #note(agentId: string, { user }: Peer): void {
    if (user === undefined || (user !== root && user !== this.#ownUser)) return
    const entry = this.#entry(agentId)
    entry.isSameUser = true
    const nowMs = this.#now()
    if (this.#isTold(entry, nowMs)) return
    entry.toldAtMs = nowMs
    this.#options.onSameUser?.(agentId)
  }

  #isTold({ toldAtMs }: Entry, nowMs: number): boolean {
    return isWithin(nowMs, toldAtMs, tellEveryMs)
  }

  #entry(agentId: string): Entry {
    let entry = this.#entries.get(agentId)
    if (entry === undefined) {
      const never = Number.NEGATIVE_INFINITY
      entry = { lastUsedAtMs: this.#now(), isSameUser: false, toldAtMs: never, lookedUpAtMs: never }
      this.#entries.set(agentId, entry)
    }
    return entry
  }
}

/** Of the absolute difference, because the clock may be set back. */
function isWithin(nowMs: number, beforeMs: number, durationMs: number): boolean {
  return Math.abs(nowMs - beforeMs) < durationMs
}
