/** Computes from the logs how long buyers waited for claims held by killed gates. */
import type { Line } from './history.test.helper.js'

export type Waits = {
  /** Payments whose buyers were refused because a killed gate held the claim. */
  readonly payments: number
  /** From the kill of the gate to the last refusal of a buyer. The buyer may return much later than necessary. */
  readonly longestSeconds: number
  /** Payments that no gate has claimed again. */
  readonly unresolved: number
}

export function waitsBehindKilled(lines: readonly Line[]): Waits {
  const holders = new Map<string, string>()
  const left = new Map<string, { readonly sinceMs: number; lastMs: number | undefined }>()
  const waits: number[] = []
  for (const line of lines) {
    if (line.type === 'claimed') {
      const found = left.get(line.transactionId)
      if (found?.lastMs !== undefined) waits.push(found.lastMs - found.sinceMs)
      left.delete(line.transactionId)
      holders.set(line.transactionId, line.process)
    } else if (line.type === 'ended') {
      if (holders.get(line.transactionId) === line.process) holders.delete(line.transactionId)
    } else if (line.type === 'killed') {
      for (const [transactionId, holder] of holders) {
        if (holder !== line.victim) continue
        holders.delete(transactionId)
        left.set(transactionId, { sinceMs: line.atMs, lastMs: undefined })
      }
    } else if (line.type === 'busy') {
      const found = left.get(line.transactionId)
      if (found !== undefined) found.lastMs = line.atMs
    }
  }
  const unresolved = [...left.values()].flatMap(({ sinceMs, lastMs }) => (lastMs === undefined ? [] : lastMs - sinceMs))
  const all = [...waits, ...unresolved]
  const longestSeconds = Math.round(Math.max(0, ...all) / 100) / 10
  return { payments: all.length, longestSeconds, unresolved: unresolved.length }
}
