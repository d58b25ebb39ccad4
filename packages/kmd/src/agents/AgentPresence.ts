/**
 * Records when each agent was last used since the daemon started, and whether it runs as the daemon's user. Such a
 * program can read the daemon's files and so bypass every limit.
 */
import type { ConnectionEnds } from '@latchkey/http'

export type Seen = { readonly lastUsedAtMs: number; readonly isSameUser: boolean }

export type AgentPresenceOptions = {
  /**
   * Returns the user at the other end of a connection; undefined if the system does not reveal it.
   *
   * @default always undefined
   */
  userOf?: (ends: ConnectionEnds) => Promise<number | undefined>
  /** The daemon's user. @default the user of this process */
  ownUser?: number | undefined
  /** Called for an agent that runs as the daemon's user, at most once an hour per agent. */
  onSameUser?: (agentId: string) => void
  /** Milliseconds since 1970. */
  now?: () => number
}

type Entry = { lastUsedAtMs: number; isSameUser: boolean; toldAtMs: number; lookedUpAtMs: number }

/** A known connection. `user` is undefined before the lookup, or if the lookup failed. */
type Peer = { user: number | undefined }

const tellEveryMs = 3_600_000
/** Limits lookups per agent, because a lookup costs the daemon more than a signature. */
const lookUpEveryMs = 1_000
/** How long a response waits for a lookup. A lookup takes milliseconds, unless the machine is overloaded. */
const lookUpMs = 1_000
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
   * Records a request of an agent. The user of a connection is looked up once. If an agent makes many connections, only
   * some are looked up.
   *
   * @returns the lookup, if one was started. Wait for it before the response: the system no longer knows the user of a
   * connection that the peer closes after its response. The wait is bounded.
   */
  used(agentId: string, ends: ConnectionEnds | undefined): Promise<void> | undefined {
    const nowMs = this.#now()
    const entry = this.#entry(agentId)
    entry.lastUsedAtMs = nowMs
    if (ends === undefined) return undefined
    const peer = this.#peers.get(ends)
    if (peer !== undefined) this.#note(agentId, peer)
    else if (!isWithin(nowMs, entry.lookedUpAtMs, lookUpEveryMs) && !this.#isTold(entry, nowMs)) {
      entry.lookedUpAtMs = nowMs
      return within(lookUpMs, this.#lookUp(agentId, ends))
    }
    return undefined
  }

  of(agentId: string): Seen | undefined {
    return this.#entries.get(agentId)
  }

  /** The agents that ran as the daemon's user. */
  sameUserAgents(): string[] {
    return [...this.#entries].flatMap(([agentId, { isSameUser }]) => (isSameUser ? agentId : []))
  }

  async #lookUp(agentId: string, ends: ConnectionEnds): Promise<void> {
    const peer: Peer = { user: undefined }
    this.#peers.set(ends, peer)
    peer.user = await this.#options.userOf?.(ends).catch(() => undefined)
    this.#note(agentId, peer)
  }

  /** Root can read the files, too. */
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

/** Resolves with the promise, or after a time. */
function within(ms: number, promise: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void promise.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Uses the absolute difference, because the clock may be set back. */
function isWithin(nowMs: number, beforeMs: number, durationMs: number): boolean {
  return Math.abs(nowMs - beforeMs) < durationMs
}
