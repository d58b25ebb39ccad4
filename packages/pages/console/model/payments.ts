/** The daemon's signatures, with the state of each transaction on the ledger. */
import type { SignatureEntry, TransactionStatus } from '../responseTypes.js'

export type Spend = { atMs: number; amount: bigint; isConfirmed: boolean }
export type Spending = { assetId: string; unitName: string; decimals: number; spends: readonly Spend[] }

const maxEntries = 1_000
/** Recent transactions are queried every time, older ones once a minute: few of those are confirmed that late. */
const recentMs = 5 * 60_000
const oldEveryMs = 60_000
/** A node remembers a confirmed transaction for about a thousand rounds. After that its silence means nothing. */
const rememberedMs = 40 * 60_000
const sendingMs = 5_000

export class Payments {
  sinceMs = 0
  #entries: SignatureEntry[] = []
  readonly #statuses = new Map<string, TransactionStatus>()
  readonly #queriedAtMs = new Map<string, number>()

  get newestFirst(): readonly SignatureEntry[] {
    return this.#entries.toReversed()
  }

  get lastNumber(): number {
    return this.#entries.at(-1)?.number ?? 0
  }

  /** The time of the oldest entry, or the start of the daemon if that is earlier. */
  get firstMs(): number {
    return Math.min(this.#entries[0]?.atMs ?? this.sinceMs, this.sinceMs)
  }

  add(sinceMs: number, entries: readonly SignatureEntry[]): void {
    // A restarted daemon numbers its entries from one again.
    if (sinceMs !== this.sinceMs) this.#entries = []
    this.sinceMs = sinceMs
    const added = entries.filter(({ number }) => number > this.lastNumber)
    this.#entries = [...this.#entries, ...added].slice(-maxEntries)
  }

  status(transactionId: string): TransactionStatus | undefined {
    return this.#statuses.get(transactionId)
  }

  /** Returns unconfirmed transactions to query now, least recently queried first. */
  takeDue(nowMs: number, limit: number): string[] {
    const unconfirmed = new Map<string, number>()
    for (const { transactionId, program, atMs } of this.#entries) {
      // A program is not a transaction and is unknown to nodes.
      if (program !== '') continue
      if (this.#statuses.get(transactionId)?.state === 'confirmed') continue
      const queriedAtMs = this.#queriedAtMs.get(transactionId) ?? 0
      if (nowMs - atMs < recentMs || nowMs - queriedAtMs > oldEveryMs) unconfirmed.set(transactionId, queriedAtMs)
    }
    const due = [...unconfirmed].sort((a, b) => a[1] - b[1]).slice(0, limit)
    for (const [id] of due) this.#queriedAtMs.set(id, nowMs)
    return due.map(([id]) => id)
  }

  /** The number of recently signed transactions that are neither being sent nor on the ledger. */
  unconfirmedCount(nowMs: number): number {
    const isMissing = ({ transactionId, program, atMs }: SignatureEntry): boolean => {
      const ageMs = nowMs - atMs
      if (program !== '' || ageMs < sendingMs || ageMs > rememberedMs) return false
      const state = this.#statuses.get(transactionId)?.state
      return state !== undefined && state !== 'confirmed'
    }
    return new Set(this.#entries.filter(isMissing).map(({ transactionId }) => transactionId)).size
  }

  update(statuses: readonly TransactionStatus[]): void {
    for (const status of statuses) this.#statuses.set(status.transactionId, status)
  }

  /** Groups spending by asset, ALGO first. A transaction that is signed several times counts once. */
  spending(): Spending[] {
    const byAsset = new Map<string, { entry: SignatureEntry; spends: Spend[] }>()
    const counted = new Set<string>()
    for (const entry of this.#entries) {
      const amount = BigInt(entry.amount)
      if (amount === 0n || entry.receiver === entry.sender || counted.has(entry.transactionId)) continue
      counted.add(entry.transactionId)
      const isConfirmed = this.#statuses.get(entry.transactionId)?.state === 'confirmed'
      const group = byAsset.get(entry.assetId) ?? { entry, spends: [] }
      group.spends.push({ atMs: entry.atMs, amount, isConfirmed })
      byAsset.set(entry.assetId, group)
    }
    return [...byAsset.values()]
      .map(({ entry: { assetId, unitName, decimals }, spends }) => ({ assetId, unitName, decimals, spends }))
      .sort((a, b) => (BigInt(a.assetId) < BigInt(b.assetId) ? -1 : 1))
  }
}

const typeNames: { [type: string]: string } = {
  pay: 'Payment',
  axfer: 'Asset transfer',
  acfg: 'Asset configuration',
  afrz: 'Asset freeze',
  keyreg: 'Key registration',
  appl: 'Application call',
  program: 'Program',
}

export function typeName(type: string): string {
  return typeNames[type] ?? (type === '' ? 'Transaction' : type)
}
