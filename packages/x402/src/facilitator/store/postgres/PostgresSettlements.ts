import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Batches, maxWaitMs } from '../../../db/postgres/Batches.js'
import { prepare } from '../../../db/postgres/Migrations.js'
import { PostgresConnection, type PostgresOptions } from '../../../db/postgres/PostgresConnection.js'
import { isOfItem } from '../../../db/postgres/PostgresError.js'
import { StoreError } from '../../../db/StoreError.js'
import { WriteProbe } from '../../../db/WriteProbe.js'
import type { HoldStore, SettlementClaim, SettlementLeases, SettlementLimits } from '../Settlement.js'
import type { Settlement, SettlementOutcome, SettlementStore, StoreConnections } from '../Settlements.js'
import { facilitatorMigrations } from './facilitatorMigrations.js'
import { PostgresHolds } from './PostgresHolds.js'
import { maxLeaseMs, PostgresLeases } from './PostgresLeases.js'
import { PostgresListings } from './PostgresListings.js'
import { PostgresSettings } from './PostgresSettings.js'
import { planOptions } from './plans.js'
import {
  claimItem,
  limitsOf,
  limitValues,
  type SettlementRow,
  settlementColumns,
  settlementOf,
} from './settlementRows.js'

/** Options of {@link PostgresSettlements.open}. */
export type PostgresSettlementsOptions = PostgresOptions & {
  /**
   * How long a replica that no longer responds keeps its pending settlements from the others. At most ten minutes.
   *
   * @default 15000
   */
  readonly leaseMs?: number | undefined
  /**
   * How to treat a partition of old settlements: `archive` keeps it as a table `archived_settlements_...` that the
   * operator can save and drop, `drop` deletes it.
   *
   * @default 'archive'
   */
  readonly oldSettlements?: 'archive' | 'drop' | undefined
}

type ClaimAttempt = { readonly settlement: Settlement; readonly limits: SettlementLimits; readonly attempt: string }
type End = { readonly transactionId: string; readonly outcome: SettlementOutcome }

/** The maximum for one statement, about 100 kB. */
const maxItems = 100
/** The second batch is in transit while the server writes the first. */
const maxRunning = 2
const sweepMs = 20_000
const leaveMs = 1_000
/** Replicas count fees in slots, so that they do not wait for each other. */
const slots = 16
const maxTextLength = 10_000

/** Settlements in PostgreSQL, shared by all replicas of a facilitator. The clock of the server decides. */
export class PostgresSettlements implements SettlementStore {
  readonly holds: HoldStore
  readonly leases: SettlementLeases
  readonly settings: PostgresSettings
  readonly listings: PostgresListings
  readonly #connection: PostgresConnection
  readonly #statements
  readonly #owner: string
  readonly #slot: number
  readonly #probe = new WriteProbe()
  readonly #leaseMs: number
  readonly #isDropping: boolean
  readonly #claims: Batches<ClaimAttempt, SettlementClaim>
  readonly #ends: Batches<End, Settlement | undefined>
  readonly #callers: Batches<string, number>
  readonly #holds: PostgresHolds
  readonly #leases: PostgresLeases
  readonly #sweep: ReturnType<typeof setInterval>

  private constructor(connection: PostgresConnection, options: PostgresSettlementsOptions) {
    this.#connection = connection
    const random = randomBytes(8)
    this.#owner = `${hostname()} ${process.pid} ${random.toString('hex')}`
    this.#slot = random[0]! % slots
    this.#leaseMs = Math.min(options.leaseMs ?? 15_000, maxLeaseMs)
    this.#isDropping = options.oldSettlements === 'drop'
    this.#statements = statementsOf(connection.quotedSchema)
    const limits = { maxItems, maxRunning, isOfItem, maxWaitMs, late: () => connection.late() }
    this.#claims = new Batches({
      run: (claims) => this.#claimAll(claims),
      key: ({ settlement }) => settlement.transactionId,
      group: (claim) => limitValues(claim.limits).join(),
      ...limits,
    })
    this.#ends = new Batches({
      run: (ends) => this.#endAll(ends),
      key: ({ transactionId }) => transactionId,
      ...limits,
    })
    let request = 0
    this.#callers = new Batches({ run: (names) => this.#countAll(names), key: () => String(++request), ...limits })
    const find = (ids: readonly string[]): Promise<Settlement[]> => this.#find(ids)
    this.holds = this.#holds = new PostgresHolds(connection, find)
    this.leases = this.#leases = new PostgresLeases(connection, { owner: this.#owner, leaseMs: this.#leaseMs, find })
    this.settings = new PostgresSettings(connection, this.#owner)
    this.listings = new PostgresListings(connection)
    this.#sweep = setInterval(() => void this.#deleteOld(), sweepMs)
    this.#sweep.unref()
  }

  /**
   * Connects, and migrates the tables if the role owns them.
   *
   * @throws StoreError `store_failed` if the database cannot be used, `store_too_new` if the tables are more than one
   * version newer, `store_not_migrated` if they are missing or older and this role may not create them
   * @example
   * const store = await PostgresSettlements.open({ address: 'postgres://facilitator@db.example/latchkey?sslmode=verify-full' })
   */
  static async open(options: PostgresSettlementsOptions = {}): Promise<PostgresSettlements> {
    const connection = await PostgresConnection.open(options, planOptions)
    try {
      await prepare(connection, facilitatorMigrations)
      const store = new PostgresSettlements(connection, options)
      await connection.read(store.#statements.createPartitions)
      return store
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  claim(settlement: Settlement, limits: SettlementLimits): Promise<SettlementClaim> {
    // Stored with the record, so that a repeated claim whose first response was lost recognizes its own record.
    const attempt = randomBytes(8).readBigInt64BE().toString()
    return this.#claims.add({ settlement, limits, attempt })
  }

  async get(transactionId: string): Promise<Settlement | undefined> {
    return (await this.#find([transactionId]))[0]
  }

  finish(transactionId: string, outcome: SettlementOutcome): Promise<Settlement | undefined> {
    return this.#ends.add({ transactionId, outcome })
  }

  async setRejected(transactionId: string, isRejected: boolean): Promise<void> {
    await this.#connection.read(this.#statements.reject, [transactionId, isRejected])
  }

  async check(
    { payer, payTo, feeMicroAlgos }: Pick<Settlement, 'payer' | 'payTo' | 'feeMicroAlgos'>,
    limits: SettlementLimits,
  ): Promise<keyof SettlementLimits | undefined> {
    const values = limitValues(limits)
    if (values.every((value) => value === null)) return undefined
    const parameters = [payer, payTo, feeMicroAlgos.toString(), ...values]
    const [row] = await this.#connection.read<{ met: keyof SettlementLimits | null }>(
      this.#statements.check,
      parameters,
    )
    return row!.met ?? undefined
  }

  /** Takes over settlements whose lease has ended. */
  pending(): Promise<readonly Settlement[]> {
    return this.leases.takeOver(10_000)
  }

  /**
   * Archives whole partitions of a week without pending settlements, so that the table is never searched or rewritten.
   */
  async forgetBefore(createdMs: number): Promise<void> {
    await this.#connection.read(this.#statements.createPartitions)
    await this.#connection.read(this.#statements.archive, [createdMs / 1000, this.#isDropping])
  }

  countCaller(name: string): Promise<number> {
    return this.#callers.add(name)
  }

  /** The server and database for messages, without user and password. */
  get server(): string {
    return this.#connection.server
  }

  get connections(): StoreConnections {
    return this.#connection.connections
  }

  /** Writes every few seconds, because the server may be a standby, or its disk full. */
  async ping(): Promise<void> {
    if (!this.#probe.isDue) return this.#connection.ping()
    // A standby is named as such.
    await this.#connection.ping()
    await this.#connection.read(this.#statements.ping, [this.#slot])
    this.#probe.done()
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep)
    this.#leases.stop()
    await Promise.all([this.#claims.idle(), this.#ends.idle(), this.#callers.idle(), this.#holds.idle()])
    // An unreachable server does not keep the process from ending. Other replicas notice that this one is silent.
    await Promise.race([this.settings.leave().catch(() => {}), sleep(leaveMs, undefined, { ref: false })])
    await this.#connection.close()
  }

  async #find(ids: readonly string[]): Promise<Settlement[]> {
    return (await this.#rows(ids)).map(settlementOf)
  }

  #rows(ids: readonly string[]): Promise<SettlementRow[]> {
    return this.#connection.read<SettlementRow>(this.#statements.get, [ids])
  }

  /**
   * Repeated with the same attempt numbers if the response is lost. The second run waits for the first if it still
   * runs, and finds its records. An unknown outcome is thereby looked up, and nothing is counted twice.
   */
  async #claimAll(claims: readonly ClaimAttempt[]): Promise<SettlementClaim[]> {
    const items = claims.map(({ settlement, attempt }, n) => claimItem(settlement, attempt, n))
    const lease = `${this.#leaseMs} milliseconds`
    const values = [JSON.stringify(items), ...limitValues(claims[0]!.limits), this.#owner, lease, this.#slot]
    const rows = await this.#connection.read<{ n: number; outcome: string }>(this.#statements.claim, values)
    const outcomes = new Map(rows.map(({ n, outcome }) => [n, outcome]))
    const known = claims.filter((_, n) => outcomes.get(n) === 'known').map(({ settlement }) => settlement.transactionId)
    const found = new Map((known.length === 0 ? [] : await this.#rows(known)).map((row) => [row.transaction_id, row]))
    return claims.map((claim, n) => claimOf(claim, outcomes.get(n), found.get(claim.settlement.transactionId)))
  }

  async #endAll(ends: readonly End[]): Promise<(Settlement | undefined)[]> {
    const items = ends.map(({ transactionId, outcome: { state, round, errorReason, errorMessage } }) => ({
      id: transactionId,
      state,
      round: round?.toString() ?? null,
      reason: textOf(errorReason),
      message: textOf(errorMessage),
    }))
    // Can be repeated, because an ended settlement does not end again.
    const values = [JSON.stringify(items), this.#slot, this.#owner]
    const rows = await this.#connection.read<{ id: string }>(this.#statements.finish, values)
    if (rows.length === 0) return ends.map(() => undefined)
    const found = new Map((await this.#find(rows.map(({ id }) => id))).map((one) => [one.transactionId, one]))
    return ends.map(({ transactionId }) => found.get(transactionId))
  }

  /** Each call gets its count as if it were the only one. */
  async #countAll(names: readonly string[]): Promise<number[]> {
    const counts = new Map<string, number>()
    const places = names.map((name) => {
      const place = (counts.get(name) ?? 0) + 1
      counts.set(name, place)
      return place
    })
    const items = [...counts].map(([name, count]) => ({ name: nameOf(name), count }))
    const rows = await this.#connection.write<{ name: string; count: string }>(this.#statements.countCallers, [
      JSON.stringify(items),
    ])
    const totals = new Map(rows.map(({ name, count }) => [name, Number(count)]))
    return names.map((name, index) => totals.get(nameOf(name))! - counts.get(name)! + places[index]!)
  }

  async #deleteOld(): Promise<void> {
    // The next replica or run does it. Only disk space depends on it.
    await this.#connection.read(this.#statements.sweep).catch(() => {})
  }
}

/**
 * @throws StoreError if the record is missing, because it was archived between two statements or the database is
 * damaged
 */
function claimOf(
  { settlement, attempt }: ClaimAttempt,
  outcome: string | undefined,
  row?: SettlementRow,
): SettlementClaim {
  if (outcome === 'recorded' || outcome === 'claimed') return { type: outcome }
  if (outcome !== 'known') return { type: 'limited', limit: outcome as keyof SettlementLimits }
  if (row === undefined) {
    throw new StoreError('store_failed', `the settlement ${settlement.transactionId} is known but has no record`)
  }
  return row.attempt === attempt ? { type: 'recorded' } : { type: 'known', settlement: settlementOf(row) }
}

/**
 * PostgreSQL cannot store the NUL character or half of a surrogate pair, which truncation here or in a node may leave.
 */
function textOf(text: string | undefined): string | null {
  return (
    text
      ?.replaceAll('\0', '')
      .slice(0, maxTextLength)
      .replace(/\p{Surrogate}/gu, '\ufffd') ?? null
  )
}

function nameOf(name: string): string {
  return textOf(name)!.slice(0, 500)
}

function statementsOf(schema: string) {
  const statement = (name: string, text: string) => ({ name: `latchkey_settlements_${name}`, text })
  return {
    claim: statement(
      'claim',
      `SELECT n, outcome FROM ${schema}.claim_settlements($1::json, ${limitsOf(schema, 2)}, $8::text, $9::interval, $10::smallint)`,
    ),
    get: statement(
      'get',
      `SELECT ${settlementColumns} FROM ${schema}.settlements s WHERE s.transaction_id = ANY ($1::text[])`,
    ),
    finish: statement('finish', `SELECT id FROM ${schema}.finish_settlements($1::json, $2::smallint, $3::text) AS id`),
    reject: statement(
      'reject',
      `UPDATE ${schema}.pending_settlements SET is_rejected = $2 WHERE transaction_id = $1 AND is_rejected <> $2`,
    ),
    check: statement(
      'check',
      `SELECT ${schema}.limit_met($1, $2, $3::numeric, ${limitsOf(schema, 4)}, clock_timestamp()) AS met`,
    ),
    countCallers: statement('count_callers', `SELECT name, count FROM ${schema}.count_callers($1::json)`),
    createPartitions: statement('create_partitions', `SELECT ${schema}.create_partitions()`),
    archive: statement('archive', `SELECT ${schema}.archive_settlements(to_timestamp($1), $2)`),
    sweep: statement('sweep', `SELECT ${schema}.sweep()`),
    // A row that no limit counts, for each slot, so that replicas do not wait for each other.
    ping: statement(
      'ping',
      `INSERT INTO ${schema}.settlement_rates AS r (name, part, count) VALUES ('ping', -1 - $1::bigint, 1)
        ON CONFLICT (name, part) DO UPDATE SET count = (r.count + 1) % 1000000`,
    ),
  }
}
