/**
 * Manages wallet handles of agents. An agent's handle holds no key and no password, so it opens nothing. Its purpose is
 * compatibility: clients of the reference need a handle for every operation. A handle works only with the token that
 * opened it, not even with the owner's.
 *
 * Expired handles are dropped when their agent opens another. An agent that opens handles without releasing them loses
 * its oldest ones.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { KmdError } from '../errors.js'
import { createHandleToken, formatHandleToken, hasHandleSecret, type Lifetimes, parseHandleToken } from '../Handles.js'
import type { AgentSession } from './AgentsApi.js'

export type AgentHandlesOptions = Lifetimes & {
  /** A monotonic clock, in milliseconds. @default performance.now */
  now?: () => number
}

type Handle = { secret: Buffer; binding: Buffer; expiresAtMs: number; latestExpiryMs: number }

/** Per agent. */
export const maxHandles = 32

export class AgentHandles {
  /** By agent, then by handle id, oldest first. */
  readonly #handles = new Map<string, Map<string, Handle>>()
  readonly #now: () => number
  #lifetimeMs: number
  #maxLifetimeMs: number

  constructor({ lifetimeMs, maxLifetimeMs, now = () => performance.now() }: AgentHandlesOptions) {
    this.#lifetimeMs = lifetimeMs
    this.#maxLifetimeMs = maxLifetimeMs ?? Number.POSITIVE_INFINITY
    this.#now = now
  }

  /** Changes the lifetimes of handles that are opened or renewed from now on. */
  configure({ lifetimeMs, maxLifetimeMs = Number.POSITIVE_INFINITY }: Lifetimes): void {
    this.#lifetimeMs = lifetimeMs
    this.#maxLifetimeMs = maxLifetimeMs
  }

  get size(): number {
    let size = 0
    for (const handles of this.#handles.values()) size += handles.size
    return size
  }

  open(session: AgentSession): string {
    const handles = this.#handles.get(session.agentId) ?? new Map<string, Handle>()
    this.#handles.set(session.agentId, handles)
    const now = this.#now()
    for (const [id, { expiresAtMs }] of handles) if (now > expiresAtMs) handles.delete(id)
    for (const id of handles.keys()) {
      if (handles.size < maxHandles) break
      handles.delete(id)
    }
    const token = createHandleToken()
    const latestExpiryMs = now + this.#maxLifetimeMs
    const expiresAtMs = Math.min(now + this.#lifetimeMs, latestExpiryMs)
    const [secret, binding] = [Buffer.from(token.secret), bindingOf(session)]
    handles.set(token.id, { secret, binding, expiresAtMs, latestExpiryMs })
    return formatHandleToken(token)
  }

  /**
   * Checks that a handle is live and was opened with the token of this request.
   *
   * @throws {@link KmdError} as for wallet handles
   */
  require(session: AgentSession, token: string): void {
    this.#live(session, token)
  }

  expiresSeconds(session: AgentSession, token: string): number {
    return Math.trunc((this.#live(session, token).expiresAtMs - this.#now()) / 1000)
  }

  renew(session: AgentSession, token: string): void {
    const handle = this.#live(session, token)
    handle.expiresAtMs = Math.min(this.#now() + this.#lifetimeMs, handle.latestExpiryMs)
  }

  release(session: AgentSession, token: string): void {
    const { id } = this.#find(session, token)
    this.#drop(session.agentId, id)
  }

  /** Ends all handles of an agent, because it was paused, has ended, or got a new token. */
  releaseAgent(agentId: string): void {
    this.#handles.delete(agentId)
  }

  close(): void {
    this.#handles.clear()
  }

  #live(session: AgentSession, token: string): Handle {
    const { id, handle } = this.#find(session, token)
    if (this.#now() <= handle.expiresAtMs) return handle
    this.#drop(session.agentId, id)
    throw new KmdError('handle_expired')
  }

  #find(session: AgentSession, token: string): { id: string; handle: Handle } {
    const given = parseHandleToken(token)
    const handle = this.#handles.get(session.agentId)?.get(given.id)
    if (handle === undefined) throw new KmdError('handle_unknown')
    if (!hasHandleSecret(given, handle.secret)) throw new KmdError('handle_wrong_secret')
    if (!timingSafeEqual(bindingOf(session), handle.binding)) throw new KmdError('handle_unknown')
    return { id: given.id, handle }
  }

  #drop(agentId: string, id: string): void {
    const handles = this.#handles.get(agentId)
    handles?.delete(id)
    if (handles?.size === 0) this.#handles.delete(agentId)
  }
}

/** Differs between tokens of the same agent. The key cannot be computed from it. */
function bindingOf({ sealingKey }: AgentSession): Buffer {
  return createHash('sha256').update('latchkey agent handle').update(sealingKey).digest()
}
