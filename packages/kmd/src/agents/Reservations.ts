/** Stores reservations in the state file: each agent's spending, by transaction id; and caches their sums. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Rules } from '@latchkey/kmd-api/rules'
import type { Statement } from '@latchkey/system/sqlite'
import type { StateDatabase } from '../state/StateDatabase.js'
import type { StoredAgent } from './AgentStore.js'
import { AgentSums, type Amount, type Counted, longestWindowMs, type Numbered, type SeriesOf } from './AgentSums.js'
import type { Facts } from './Decision.js'

/** A reservation whose outcome is unknown. */
export type OpenReservation = Numbered & {
  /** The 32 bytes of the transaction id; for an authorization, of its lease. */
  readonly transactionId: Buffer
  readonly firstValid: bigint
  readonly lastValid: bigint
  /** The account that pays an authorization for a price by usage; undefined for a transaction. */
  readonly uptoPayer: string | undefined
}

/** The charge of an authorization, as a block of the ledger has it. */
export type Charge = { readonly amount: bigint; readonly round: bigint }

/** Selects reservations of a network up to a last valid round, after a reservation number. */
export type OverQuery = {
  readonly network: string
  readonly lastValid: bigint
  readonly after: number
  readonly count: number
}

/** Selects authorizations of a network, valid or not, after a reservation number. */
export type UptoQuery = Pick<OverQuery, 'network' | 'after' | 'count'>

/** Whether the transaction is in the ledger. */
export const outcomes = { unknown: 0, confirmed: 1, returned: 2 } as const

/** The reservations of a series in a range of numbers: the SQL of the amount and of the condition, and its values. */
type Selection = {
  readonly amount: string
  readonly isIn: string
  readonly values: readonly (number | bigint | string)[]
}

type Row = {
  number: bigint
  transaction_id: Uint8Array
  first_valid: bigint
  last_valid: bigint
  upto_payer: string | null
  at_ms: bigint
  network: bigint
  payee: string | null
  micro_algos: bigint
  asset_id: bigint
  asset_amount: bigint
}

export class Reservations {
  readonly #database: StateDatabase
  readonly #networks = new Map<string, number>()
  readonly #networkNames = new Map<bigint, string>()
  /** The next number of each agent. */
  readonly #next = new Map<number, number>()

  constructor(database: StateDatabase) {
    this.#database = database
  }

  /** Called after a transaction was rolled back, because the numbers it assigned are free again. */
  forget(): void {
    this.#networks.clear()
    this.#networkNames.clear()
    this.#next.clear()
  }

  /** Whether the agent has a reservation for the transaction that was not returned. */
  has(agent: number, transactionId: Uint8Array, { lastValid }: Pick<Facts, 'lastValid'>): boolean {
    const isIt = 'last_valid = ? AND transaction_id = ? AND agent = ? AND outcome <> 2'
    const sql = `SELECT 1 AS found FROM reservations WHERE ${isIt}`
    return this.#database.statement(sql).get(lastValid, transactionId, agent) !== undefined
  }

  /** Writes a reservation. Call only within `StateDatabase.change`. */
  insert(agent: number, transactionId: Uint8Array, facts: Facts, atMs: number): Counted {
    const counted = countedOf(facts, atMs)
    const number = this.end(agent)
    this.#database
      .statement('INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)')
      .run(
        agent,
        number,
        transactionId,
        atMs,
        this.#networkNumber(facts.network),
        facts.firstValid,
        facts.lastValid,
        counted.payee ?? null,
        counted.microAlgos,
        counted.assetId,
        counted.assetAmount,
        facts.isUpTo === true ? facts.sender : null,
      )
    this.#next.set(agent, number + 1)
    return counted
  }

  lastAtMs(agent: number): number | undefined {
    const sql = 'SELECT at_ms FROM reservations WHERE agent = ? ORDER BY number DESC LIMIT 1'
    return (this.#database.statement(sql).get(agent) as { at_ms: number } | undefined)?.at_ms
  }

  /** The number of the agent's next reservation. */
  end(agent: number): number {
    return this.#next.get(agent) ?? this.#readNext(agent)
  }

  /** Deletes an agent's oldest reservations, but not the last one. Call only within `StateDatabase.change`. */
  prune(agent: number, count: number): number {
    const oldest = 'SELECT number FROM reservations WHERE agent = ? AND number < ? ORDER BY number LIMIT ?'
    const sql = `DELETE FROM reservations WHERE agent = ? AND number IN (${oldest})`
    return Number(this.#database.statement(sql).run(agent, agent, this.end(agent) - 1, count).changes)
  }

  /**
   * The number of the first reservation within the longest window. Times never decrease from one number to the next.
   */
  firstRecent(agent: number, nowMs: number): number {
    // Reservations of an ended agent are deleted oldest first.
    const oldest = this.#database.statement('SELECT MIN(number) AS number FROM reservations WHERE agent = ?')
    let [low, high] = [(oldest.get(agent) as { number: number | null }).number ?? 1, this.end(agent)]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.timeOf(agent, middle) > nowMs - longestWindowMs) high = middle
      else low = middle + 1
    }
    return low
  }

  /** The time of an existing reservation. */
  timeOf(agent: number, number: number): number {
    const sql = 'SELECT at_ms FROM reservations WHERE agent = ? AND number = ?'
    return (this.#database.statement(sql).get(agent, number) as { at_ms: number }).at_ms
  }

  /**
   * The sum of the reservations from one number up to another. Computed in two halves, because SQLite's sum of large
   * integers overflows.
   */
  sumBetween(agent: number, from: number, to: number, series: SeriesOf): bigint {
    const { amount, isIn, values } = this.#selection(agent, from, to, series)
    const halves = `SUM(${amount} >> 32) AS high, SUM(${amount} & 4294967295) AS low`
    const row = this.#bigints(`SELECT ${halves} FROM reservations WHERE ${isIn}`).get(...values)
    const { high, low } = row as { high: bigint | null; low: bigint | null }
    return ((high ?? 0n) << 32n) + (low ?? 0n)
  }

  /** The amounts of the reservations from one number up to another, ordered by number and so by time. */
  amountsBetween(agent: number, from: number, to: number, series: SeriesOf): Amount[] {
    const { amount, isIn, values } = this.#selection(agent, from, to, series)
    const sql = `SELECT at_ms, ${amount} AS amount FROM reservations WHERE ${isIn} ORDER BY number`
    const rows = this.#bigints(sql).all(...values) as { at_ms: bigint; amount: bigint }[]
    return rows.map(({ at_ms: atMs, amount }) => ({ atMs: Number(atMs), amount }))
  }

  #selection(agent: number, from: number, to: number, { network, payee, assetId }: SeriesOf): Selection {
    const amount = assetId === undefined ? '1' : assetId === 0n ? 'micro_algos' : 'asset_amount'
    const conditions = ['agent = ?', 'number >= ?', 'number < ?', 'outcome <> 2', 'network = ?']
    const values: (number | bigint | string)[] = [agent, from, to, this.#knownNetwork(network) ?? -1]
    if (payee !== undefined) {
      conditions.push('payee = ?')
      values.push(payee)
    }
    if (assetId !== undefined && assetId !== 0n) {
      conditions.push('asset_id = ?')
      values.push(assetId)
    }
    return { amount, isIn: conditions.join(' AND '), values }
  }

  /** Reservations of unknown outcome whose transactions are no longer valid, ordered by number. */
  over(agent: number, { network, lastValid, after, count }: OverQuery): OpenReservation[] {
    const isOver = 'agent = ? AND number > ? AND outcome = 0 AND upto_payer IS NULL AND network = ? AND last_valid <= ?'
    const sql = `SELECT ${columns} FROM reservations WHERE ${isOver} ORDER BY number LIMIT ?`
    return this.#open(sql, agent, after, this.#knownNetwork(network) ?? -1, lastValid, count)
  }

  /** Authorizations of unknown outcome, whether or not they are still valid, ordered by number. */
  openUpto(agent: number, { network, after, count }: UptoQuery): OpenReservation[] {
    const isOpen = 'agent = ? AND network = ? AND number > ? AND outcome = 0 AND upto_payer IS NOT NULL'
    const sql = `SELECT ${columns} FROM reservations WHERE ${isOpen} ORDER BY number LIMIT ?`
    return this.#open(sql, agent, this.#knownNetwork(network) ?? -1, after, count)
  }

  /**
   * The number of the first reservation of unknown outcome whose transaction may still be valid. If there is none, the
   * number of the agent's next reservation.
   */
  firstValid(agent: number, { network, lastValid, after }: Omit<OverQuery, 'count'>): number {
    const isValid = 'agent = ? AND number > ? AND outcome = 0 AND upto_payer IS NULL AND network = ? AND last_valid > ?'
    const sql = `SELECT number FROM reservations WHERE ${isValid} ORDER BY number LIMIT 1`
    const row = this.#database.statement(sql).get(agent, after, this.#knownNetwork(network) ?? -1, lastValid)
    return (row as { number: number } | undefined)?.number ?? this.end(agent)
  }

  /** Writes an outcome if it is still unknown. Call only within `StateDatabase.change`. */
  setOutcome(agent: number, number: number, outcome: 1 | 2): boolean {
    const sql = 'UPDATE reservations SET outcome = ? WHERE agent = ? AND number = ? AND outcome = 0'
    return Number(this.#database.statement(sql).run(outcome, agent, number).changes) > 0
  }

  /** Writes the charge of an authorization in place of its maximum. Call only within `StateDatabase.change`. */
  settle(agent: number, number: number, amount: bigint): boolean {
    const isIt = 'agent = ? AND number = ? AND outcome = 0 AND upto_payer IS NOT NULL AND asset_amount >= ?'
    const sql = `UPDATE reservations SET outcome = 1, asset_amount = ? WHERE ${isIt}`
    return Number(this.#database.statement(sql).run(amount, agent, number, amount).changes) > 0
  }

  #open(sql: string, ...values: readonly (number | bigint)[]): OpenReservation[] {
    return (this.#bigints(sql).all(...values) as Row[]).map((row) => ({
      ...this.#counted(row),
      number: Number(row.number),
      transactionId: Buffer.from(row.transaction_id),
      firstValid: row.first_valid,
      lastValid: row.last_valid,
      uptoPayer: row.upto_payer ?? undefined,
    }))
  }

  #bigints(sql: string): Statement {
    const statement = this.#database.statement(sql)
    statement.setReadBigInts(true)
    return statement
  }

  #counted(row: Row): Counted {
    return {
      atMs: Number(row.at_ms),
      network: this.#networkName(row.network),
      payee: row.payee ?? undefined,
      microAlgos: row.micro_algos,
      assetId: row.asset_id,
      assetAmount: row.asset_amount,
    }
  }

  #readNext(agent: number): number {
    const sql = 'SELECT number FROM reservations WHERE agent = ? ORDER BY number DESC LIMIT 1'
    const row = this.#database.statement(sql).get(agent) as { number: number } | undefined
    return (row?.number ?? 0) + 1
  }

  #networkNumber(network: string): number {
    const known = this.#knownNetwork(network)
    if (known !== undefined) return known
    this.#database.statement('INSERT INTO networks (genesis_hash) VALUES (?)').run(network)
    return this.#knownNetwork(network)!
  }

  #knownNetwork(network: string): number | undefined {
    const known = this.#networks.get(network)
    if (known !== undefined) return known
    const sql = 'SELECT number FROM networks WHERE genesis_hash = ?'
    const row = this.#database.statement(sql).get(network) as { number: number } | undefined
    if (row !== undefined) this.#networks.set(network, row.number)
    return row?.number
  }

  #networkName(number: bigint): string {
    const known = this.#networkNames.get(number)
    if (known !== undefined) return known
    const sql = 'SELECT genesis_hash FROM networks WHERE number = ?'
    const { genesis_hash: name } = this.#database.statement(sql).get(number) as { genesis_hash: string }
    this.#networkNames.set(number, name)
    return name
  }
}

const columns =
  'number, transaction_id, first_valid, last_valid, upto_payer, at_ms, network, payee, micro_algos, asset_id, asset_amount'

/** Returns the amounts of a transaction that count against limits. */
export function countedOf({ network, payee, assetId, spends }: Facts, atMs: number): Counted {
  const spent = (id: bigint): bigint => spends.find((one) => one.assetId === id)?.amount ?? 0n
  const isAsset = assetId !== 0n
  return { atMs, network, payee, microAlgos: spent(0n), assetId, assetAmount: isAsset ? spent(assetId) : 0n }
}

/** `isStale`: the data read so far may be outdated. */
type Loading = { readonly done: Promise<void>; isStale: boolean }

/** The number of rows summed by SQLite per turn of the event loop. */
const summedPerTurn = 10_000
/** The number of rows in a block, which are read one by one when a window ends within it: about a millisecond. */
const rowsPerBlock = 500
/** If other changes keep making the data stale, the last attempt reads it all at once. */
const maxAttempts = 3

/**
 * Caches agents' sums in memory, read from the file when an agent is first used. SQLite sums blocks of reservations, and
 * only those at the edges of windows are read one by one: a million take 0.3 seconds for each series, and would take 4 one
 * by one. It is done in pieces before the transaction that needs the sums, and other work runs in between. Within a
 * transaction they are read all at once, which happens only if they were dropped in between.
 */
export class SumsCache {
  readonly #reservations: Reservations
  readonly #rowsPerBlock: number
  readonly #sums = new Map<number, AgentSums>()
  readonly #loading = new Map<number, Loading>()

  constructor(reservations: Reservations, options: { rowsPerBlock?: number } = {}) {
    this.#reservations = reservations
    this.#rowsPerBlock = options.rowsPerBlock ?? rowsPerBlock
  }

  has(agent: number): boolean {
    return this.#sums.has(agent)
  }

  get(agent: number): AgentSums | undefined {
    return this.#sums.get(agent)
  }

  /** Returns the sums, and reads them all at once if they are not cached. */
  read(stored: StoredAgent, nowMs: number): AgentSums {
    const known = this.#sums.get(stored.number)
    if (known !== undefined) return known
    const sums = this.#empty(stored)
    for (const _piece of this.#fill(sums, stored, nowMs));
    this.#keep(stored.number, sums)
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
  async #readInPieces(stored: StoredAgent, nowMs: number, isStale: () => boolean): Promise<AgentSums | undefined> {
    const sums = this.#empty(stored)
    for (const _piece of this.#fill(sums, stored, nowMs)) {
      await nextTurn()
      if (isStale()) return undefined
    }
    return sums
  }

  #empty({ number, agent }: Pick<StoredAgent, 'number' | 'agent'>): AgentSums {
    return new AgentSums(agent.rules, (series, { from, to }) =>
      this.#reservations.amountsBetween(number, from, to, series),
    )
  }

  /** Yields after each piece, and reads no more once it is not resumed. */
  *#fill(sums: AgentSums, { number, agent }: StoredAgent, nowMs: number): Generator<void, void> {
    const reservations = this.#reservations
    const [first, end] = [reservations.firstRecent(number, nowMs), reservations.end(number)]
    for (const series of sums.series()) {
      for (let from = 1; from < first; from += summedPerTurn) {
        sums.addBefore(series, reservations.sumBetween(number, from, Math.min(first, from + summedPerTurn), series))
        yield
      }
      for (let from = first; from < end; from += this.#rowsPerBlock) {
        const to = Math.min(end, from + this.#rowsPerBlock)
        const block = { from, to, lastMs: reservations.timeOf(number, to - 1) }
        sums.addBlock(series, block, reservations.sumBetween(number, from, to, series))
        if ((to - first) % summedPerTurn === 0) yield
      }
      yield
    }
    // The first decision needs the amounts at the edge of each window.
    for (const limit of agent.rules.limits) {
      sums.use(limit, nowMs)
      yield
    }
  }
}
