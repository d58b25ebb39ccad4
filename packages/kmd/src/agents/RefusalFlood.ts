/**
 * Keeps a repeating agent from filling the disk. Only a limited number of its refusals and repeated signatures per
 * minute are recorded; the next record states how many were omitted before it. Payments that count are always recorded.
 */

const perMinute = 30
const minuteMs = 60_000

type Count = { startedAtMs: number; recorded: number; leftOut: number }

export class RefusalFlood {
  readonly #counts = new Map<string, Count>()

  /** Whether the next record is omitted. */
  isFull(agentId: string, nowMs: number): boolean {
    const count = this.#counts.get(agentId)
    return count !== undefined && count.recorded >= perMinute && nowMs - count.startedAtMs < minuteMs
  }

  leaveOut(agentId: string): void {
    this.#counts.get(agentId)!.leftOut++
  }

  /** Counts a record, and returns how many were omitted before it. */
  record(agentId: string, nowMs: number): number {
    const count = this.#counts.get(agentId)
    if (count === undefined || nowMs - count.startedAtMs >= minuteMs) {
      this.#counts.set(agentId, { startedAtMs: nowMs, recorded: 1, leftOut: 0 })
      return count?.leftOut ?? 0
    }
    const { leftOut } = count
    count.recorded++
    count.leftOut = 0
    return leftOut
  }

  /** The agents with omitted records whose minute has passed. */
  waiting(nowMs: number): { agentId: string; leftOut: number }[] {
    const found: { agentId: string; leftOut: number }[] = []
    for (const [agentId, { startedAtMs, leftOut }] of this.#counts) {
      if (nowMs - startedAtMs < minuteMs) continue
      if (leftOut > 0) found.push({ agentId, leftOut })
      else this.#counts.delete(agentId)
    }
    return found
  }
}
