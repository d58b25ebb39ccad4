/**
 * Caches agents' sums in memory, read from the file when an agent is first used. Reading hundreds of thousands of
 * reservations takes seconds, so it is done in pieces before the transaction that needs the sums, and other work runs
 * in between. Within a transaction they are read all at once, which happens only if they were dropped in between.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Rules } from '@latchkey/kmd-api/rules'
import type { StoredAgent } from './AgentStore.js'
import { AgentSums } from './AgentSums.js'
import type { Reservations } from './Reservations.js'

/** `isStale`: the data read so far may be outdated. */
type Loading = { readonly done: Promise<void>; isStale: boolean }

/** The number of rows read one by one, and of rows summed by SQLite, per turn of the event loop. */
const rowsPerTurn = 500
const summedPerTurn = 10_000
/** If other changes keep making the data stale, the last attempt reads it all at once. */
const maxAttempts = 3

export class SumsCache {
  readonly #reservations: Reservations
  readonly #sums = new Map<number, AgentSums>()
  readonly #loading = new Map<number, Loading>()

  constructor(reservations: Reservations) {
    this.#reservations = reservations
  }

  has(agent: number): boolean {
    return this.#sums.has(agent)
  }

  get(agent: number): AgentSums | undefined {
    return this.#sums.get(agent)
  }

  /** Returns the sums, and reads them all at once if they are not cached. */
  read({ number, agent }: StoredAgent, nowMs: number): AgentSums {
    const known = this.#sums.get(number)
    if (known !== undefined) return known
    const first = this.#reservations.firstRecent(number, nowMs)
    const sums = new AgentSums(agent.rules)
    for (const series of sums.series()) {
      sums.addBefore(series, this.#reservations.sumBetween(number, 1, first, series))
    }
    this.#reservations.addTo(sums, number, first, this.#reservations.end(number))
    this.#keep(number, sums)
    return sums
  }

  /** Reads the sums in pieces if they are not cached. Concurrent calls share one read. */
  async prepare(find: () => StoredAgent, now: () => number): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const stored = find()
      if (this.#sums.has(stored.number)) return
      if (attempt > maxAttempts) {
        this.read(stored, now())
        return
      }
      await (this.#loading.get(stored.number) ?? this.#load(stored, now())).done
    }
  }

  /** Called when an agent's rules have changed. Keeps the sums if they also cover the new rules. */
  rulesChanged(agent: number, rules: Pick<Rules, 'limits'>): void {
    if (this.#sums.get(agent)?.covers(rules) !== true) this.forget(agent)
  }

  forget(agent: number): void {
    this.#sums.delete(agent)
    this.outdate(agent)
  }

  /** The agent's reservations have changed, so a read in progress starts again. */
  outdate(agent: number): void {
    const loading = this.#loading.get(agent)
    if (loading !== undefined) loading.isStale = true
  }

  forgetAll(): void {
    this.#sums.clear()
    for (const loading of this.#loading.values()) loading.isStale = true
  }

  #keep(agent: number, sums: AgentSums): void {
    this.#sums.set(agent, sums)
    this.outdate(agent)
  }

  #load(stored: StoredAgent, nowMs: number): Loading {
    const { number } = stored
    const state = { isStale: false }
    const done = this.#readInPieces(stored, nowMs, () => state.isStale)
      .then((sums) => {
        if (sums !== undefined && !state.isStale) this.#sums.set(number, sums)
      })
      .finally(() => this.#loading.delete(number))
    const loading = Object.assign(state, { done })
    this.#loading.set(number, loading)
    return loading
  }

  /** Undefined if the data became stale in the meantime. */
  async #readInPieces(
    { number, agent }: StoredAgent,
    nowMs: number,
    isStale: () => boolean,
  ): Promise<AgentSums | undefined> {
    const reservations = this.#reservations
    const [first, end] = [reservations.firstRecent(number, nowMs), reservations.end(number)]
    const sums = new AgentSums(agent.rules)
    for (const series of sums.series()) {
      for (let from = 1; from < first; from += summedPerTurn) {
        const to = Math.min(first, from + summedPerTurn)
        sums.addBefore(series, reservations.sumBetween(number, from, to, series))
        await nextTurn()
        if (isStale()) return undefined
      }
    }
    for (let from = first; from < end; from += rowsPerTurn) {
      reservations.addTo(sums, number, from, Math.min(end, from + rowsPerTurn))
      await nextTurn()
      if (isStale()) return undefined
    }
    return sums
  }
}
