/**
 * Keeps an agent from filling the disk, and the owner's attention, with payments that expire one after the other: how many of
 * those that it asked about within an hour the owner has not decided.
 */
import type { Approval } from './Approval.js'

const windowMs = 3_600_000

export class AskCounts {
  /** By agent: when each was asked, by its id. */
  readonly #asked = new Map<string, Map<string, number>>()

  add({ agentId, id, createdAtMs }: Approval): void {
    const asked = this.#asked.get(agentId) ?? new Map<string, number>()
    this.#asked.set(agentId, asked.set(id, createdAtMs))
  }

  /** The owner has decided. */
  remove({ agentId, id }: Approval): void {
    this.#asked.get(agentId)?.delete(id)
  }

  count(agentId: string, nowMs: number): number {
    const asked = this.#asked.get(agentId)
    if (asked === undefined) return 0
    // After a clock that was set back, those of the future are not waited for.
    for (const [id, atMs] of asked) if (atMs <= nowMs - windowMs || atMs > nowMs) asked.delete(id)
    if (asked.size === 0) this.#asked.delete(agentId)
    return asked.size
  }
}
