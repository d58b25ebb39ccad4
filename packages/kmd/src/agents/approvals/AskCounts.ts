/**
 * Counts how many requests of an agent within an hour the owner has not decided. This keeps an agent from filling the
 * disk, and the owner's attention, with payments that expire one after another.
 */
import type { Approval } from './Approval.js'

const windowMs = 3_600_000

export class AskCounts {
  /** By agent: the request times by approval id. */
  readonly #asked = new Map<string, Map<string, number>>()

  add({ agentId, id, createdAtMs }: Approval): void {
    const asked = this.#asked.get(agentId) ?? new Map<string, number>()
    this.#asked.set(agentId, asked.set(id, createdAtMs))
  }

  /** Called when the owner has decided. */
  remove({ agentId, id }: Approval): void {
    this.#asked.get(agentId)?.delete(id)
  }

  count(agentId: string, nowMs: number): number {
    const asked = this.#asked.get(agentId)
    if (asked === undefined) return 0
    // If the clock was set back, requests with a future time are dropped.
    for (const [id, atMs] of asked) if (atMs <= nowMs - windowMs || atMs > nowMs) asked.delete(id)
    if (asked.size === 0) this.#asked.delete(agentId)
    return asked.size
  }
}
