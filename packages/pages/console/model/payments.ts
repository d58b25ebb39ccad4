/** What the daemon signed, and what the ledger knows of it. */
import type { Sighting, Signing } from '../responses.js'

export type Spend = { atMs: number; amount: bigint; isSettled: boolean }
export type Spending = { assetId: string; unitName: string; decimals: number; spends: readonly Spend[] }

/** Young ones are asked for each time, old ones now and then: they will hardly appear any more. */
const youngMs = 5 * 60_000
const oldEveryMs = 60_000

export class Payments {
  sinceMs = 0
  #signings: Signing[] = []
  readonly #sightings = new Map<string, Sighting>()
  readonly #askedAtMs = new Map<string, number>()

  get newestFirst(): readonly Signing[] {
    return this.#signings.toReversed()
  }

  get lastNumber(): number {
    return this.#signings.at(-1)?.number ?? 0
  }

  add(sinceMs: number, signings: readonly Signing[]): void {
    // Another start is another daemon, which counts anew.
    if (sinceMs !== this.sinceMs) this.#signings = []
    this.sinceMs = sinceMs
    this.#signings = [...this.#signings, ...signings.filter(({ number }) => number > this.lastNumber)].slice(-1000)
  }

  sighting(transactionId: string): Sighting | undefined {
    return this.#sightings.get(transactionId)
  }

  /** Whose state to ask for now: those not asked for longest, and none that is settled. */
  due(nowMs: number, most: number): string[] {
    const waiting = new Map<string, number>()
    for (const { transactionId, atMs } of this.#signings) {
      if (this.#sightings.get(transactionId)?.state === 'confirmed') continue
      const askedAtMs = this.#askedAtMs.get(transactionId) ?? 0
      if (nowMs - atMs < youngMs || nowMs - askedAtMs > oldEveryMs) waiting.set(transactionId, askedAtMs)
    }
    const due = [...waiting].sort((a, b) => a[1] - b[1]).slice(0, most)
    for (const [id] of due) this.#askedAtMs.set(id, nowMs)
    return due.map(([id]) => id)
  }

  see(sightings: readonly Sighting[]): void {
    for (const sighting of sightings) this.#sightings.set(sighting.transactionId, sighting)
  }

  /** By asset, Algos first. A transaction that was signed twice, or by two members, is spent once. */
  spending(): Spending[] {
    const byAsset = new Map<string, { signing: Signing; spends: Spend[] }>()
    const counted = new Set<string>()
    for (const signing of this.#signings) {
      const amount = BigInt(signing.amount)
      if (amount === 0n || signing.receiver === signing.sender || counted.has(signing.transactionId)) continue
      counted.add(signing.transactionId)
      const isSettled = this.#sightings.get(signing.transactionId)?.state === 'confirmed'
      const entry = byAsset.get(signing.assetId) ?? { signing, spends: [] }
      entry.spends.push({ atMs: signing.atMs, amount, isSettled })
      byAsset.set(signing.assetId, entry)
    }
    return [...byAsset.values()]
      .map(({ signing: { assetId, unitName, decimals }, spends }) => ({ assetId, unitName, decimals, spends }))
      .sort((a, b) => (BigInt(a.assetId) < BigInt(b.assetId) ? -1 : 1))
  }
}

const names: { [type: string]: string } = {
  pay: 'Payment',
  axfer: 'Asset transfer',
  acfg: 'Asset configuration',
  afrz: 'Asset freeze',
  keyreg: 'Key registration',
  appl: 'Application call',
}

export function nameOf(type: string): string {
  return names[type] ?? (type === '' ? 'Transaction' : type)
}
