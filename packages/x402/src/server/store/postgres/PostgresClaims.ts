import { prepare } from '../../../db/postgres/Migrations.js'
import { PostgresConnection, type PostgresOptions } from '../../../db/postgres/PostgresConnection.js'
import { PostgresError } from '../../../db/postgres/PostgresError.js'
import {
  bytesOf,
  type ClaimEnd,
  type ClaimLease,
  type ClaimRenewals,
  type ClaimResult,
  type ClaimStore,
  type HeldAnswer,
  type HeldClaim,
  keepServedMs,
  type StoredPurchase,
} from '../Claims.js'
import { PostgresPasses } from './PostgresPasses.js'
import { PostgresSales, saleJson } from './PostgresSales.js'
import { PostgresUsage } from './PostgresUsage.js'
import { sellerMigrations } from './sellerMigrations.js'

/** Options of {@link PostgresClaims}. */
export type PostgresClaimsOptions = PostgresOptions & {
  /**
   * The total size of answers held by all replicas, in bytes. Replicas that hold answers at the same moment may exceed
   * the limit by those answers.
   *
   * @default 1 GiB
   */
  readonly maxHeldBytes?: number | undefined
  /**
   * How many sales are kept. Totals by day and route continue to count.
   *
   * @default 1_000_000
   */
  readonly maxSales?: number | undefined
}

const defaultMaxHeldBytes = 1024 * 1024 * 1024
/**
 * How many claims are made between two deletions of old ones, how many rows are deleted at once, and in how many
 * batches.
 */
const [cleanEvery, cleanBatch, maxBatches] = [500, 500, 20]
/** Served answers are deleted even without further claims. */
const cleanMs = 60_000
const maxRound = 2n ** 63n - 1n

type ClaimRow = {
  readonly o_result: ClaimResult['type']
  readonly o_fence: string | bigint | number | null
  readonly o_status: number | null
  readonly o_headers: string | null
  readonly o_body: Uint8Array | null
}

type PurchaseRow = ClaimRow & {
  readonly o_id: string
  readonly o_fingerprint: string
  readonly o_binding: string
  readonly o_payload: string
}

/**
 * Claims in PostgreSQL, shared by processes on many machines. The clock of the database decides. Every change is one
 * round trip. A change whose response was lost is repeated by its owner, so that its outcome is never guessed.
 */
export class PostgresClaims implements ClaimStore {
  readonly id: string
  readonly passes: PostgresPasses
  readonly sales: PostgresSales
  readonly usage: PostgresUsage
  readonly hasPurchases = true
  readonly renewals: ClaimRenewals = {
    renew: (claims, leaseMs) => this.#renew(claims, leaseMs),
    begin: (claim) => this.#begin(claim),
  }
  readonly #connection: PostgresConnection
  readonly #maxHeldBytes: number
  readonly #statements
  /** The latest round by network. */
  readonly #rounds = new Map<string, bigint>()
  #count = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #cleaning: Promise<void> | undefined
  #isClosed = false

  private constructor(connection: PostgresConnection, id: string, options: PostgresClaimsOptions) {
    this.id = id
    this.#connection = connection
    this.#maxHeldBytes = options.maxHeldBytes ?? defaultMaxHeldBytes
    this.#statements = statementsOf(connection.quotedSchema)
    this.passes = new PostgresPasses(connection)
    this.sales = new PostgresSales(connection, options.maxSales)
    this.usage = new PostgresUsage(connection)
  }

  /**
   * Connects, and creates the tables if the role owns the schema.
   *
   * @throws StoreError if the database cannot be used, or its tables are of another version; methods throw it too
   * @example
   * const claims = await PostgresClaims.open({ address: 'postgres://shop@db.example/shop' })
   */
  static async open(options: PostgresClaimsOptions = {}): Promise<PostgresClaims> {
    const connection = await PostgresConnection.open(options)
    try {
      await prepare(connection, sellerMigrations)
      const text = `SELECT id FROM ${connection.quotedSchema}.seller`
      const [row] = await connection.read<{ id: string }>({ name: 'latchkey_seller', text })
      return new PostgresClaims(connection, row!.id, options)
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  async has(transactionId: string): Promise<boolean> {
    return (await this.#connection.read(this.#statements.has, [transactionId])).length > 0
  }

  async claim(transactionId: string, lease: ClaimLease): Promise<ClaimResult> {
    const { owner, binding, proof, leaseMs, network, round, forgetRound, sale } = lease
    this.#rounds.set(network, round)
    if (this.#count++ % cleanEvery === 0) this.#clean()
    const until = forgetRound < maxRound ? forgetRound : maxRound
    const values = [transactionId, owner, binding, proof, leaseMs, network, until, sale && saleJson(sale)]
    try {
      const row = await this.#readClaim(values, lease.purchase)
      const { o_result: type } = row
      if (type === 'busy' || type === 'taken') return { type }
      if (type === 'purchased') return { type, purchase: purchaseOf(row as PurchaseRow) }
      const fence = Number(row.o_fence)
      return type === 'held' ? { type, answer: answerOf(row), fence } : { type, fence }
    } catch (error) {
      // The payment may be claimed, and the buyer would have to wait until the lease ends.
      if (error instanceof PostgresError && error.isOutcomeUnknown)
        this.finish(transactionId, owner, 'open').catch(() => {})
      throw error
    }
  }

  async hold(transactionId: string, owner: string, answer: HeldAnswer, fence?: number): Promise<boolean> {
    const { status, headers, body } = answer
    const bytes = bytesOf(answer)
    // An answer that is too large is not sent.
    const sent = bytes > this.#maxHeldBytes ? new Uint8Array() : body
    const kept = [status, JSON.stringify(headers), Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength), bytes]
    const values = [transactionId, owner, ...kept, this.#maxHeldBytes, fence]
    const [row] = await this.#connection.read<{ is_own: boolean }>(this.#statements.hold, values)
    return row!.is_own
  }

  async finish(transactionId: string, owner: string, end: ClaimEnd, _nowMs?: number, fence?: number): Promise<boolean> {
    const values = [transactionId, owner, end, keepServedMs, fence]
    const [row] = await this.#connection.read<{ is_own: boolean }>(this.#statements.finish, values)
    if (end === 'served') this.#cleanLater()
    return row!.is_own
  }

  /**
   * Checks that the database can be used now.
   *
   * @throws StoreError if it cannot
   */
  ping(): Promise<void> {
    return this.#connection.ping()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#cleaning
    await this.sales.close()
    await this.#connection.close()
  }

  async #readClaim(values: readonly unknown[], purchase: ClaimLease['purchase']): Promise<ClaimRow> {
    const { claim, claimPurchase } = this.#statements
    if (purchase === undefined) return (await this.#connection.read<ClaimRow>(claim, [...values]))[0]!
    const { key, fingerprint, payload, replaces, isPatient = false } = purchase
    const all = [...values, key, fingerprint, payload, replaces, isPatient]
    return (await this.#connection.read<PurchaseRow>(claimPurchase, all))[0]!
  }

  async #renew(claims: readonly HeldClaim[], leaseMs: number): Promise<string[]> {
    const columns = [
      claims.map(({ transactionId }) => transactionId),
      claims.map(({ owner }) => owner),
      claims.map(({ fence }) => fence),
    ]
    const rows = await this.#connection.read<{ owner: string }>(this.#statements.renew, [...columns, leaseMs])
    return rows.map(({ owner }) => owner)
  }

  async #begin({ transactionId, owner, fence }: HeldClaim): Promise<boolean> {
    const values = [transactionId, owner, fence]
    const [row] = await this.#connection.read<{ is_own: boolean }>(this.#statements.begin, values)
    return row!.is_own
  }

  /** Also deletes answers if the seller gets no further requests. */
  #cleanLater(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#clean()
    }, keepServedMs + cleanMs)
    this.#timer.unref?.()
  }

  /** Runs in parallel with claims, in small transactions, so that no request waits for it. */
  #clean(): void {
    this.#cleaning ??= this.#cleanAll()
      // The next run deletes them.
      .catch(() => {})
      .finally(() => {
        this.#cleaning = undefined
      })
  }

  async #cleanAll(): Promise<void> {
    for (const [network, round] of this.#rounds) {
      for (let batches = 0; batches < maxBatches && !this.#isClosed; batches++) {
        const values = [network, round < maxRound ? round : maxRound, cleanBatch]
        const [row] = await this.#connection.read<{ n: number }>(this.#statements.clean, values)
        if (row!.n < cleanBatch) break
      }
    }
  }
}

function answerOf({ o_status: status, o_headers: headers, o_body: body }: ClaimRow): HeldAnswer | undefined {
  if (status === null || headers === null || body === null) return undefined
  return { status, headers: JSON.parse(headers) as HeldAnswer['headers'], body: new Uint8Array(body) }
}

function purchaseOf(row: PurchaseRow): StoredPurchase {
  const { o_id: transactionId, o_fingerprint: fingerprint, o_binding: binding, o_payload: payload } = row
  return { transactionId, fingerprint, binding, payload }
}

function statementsOf(schema: string) {
  return {
    has: { name: 'latchkey_claim_has', text: `SELECT 1 FROM ${schema}.claims WHERE transaction_id = $1` },
    claim: {
      name: 'latchkey_claim',
      text: `SELECT * FROM ${schema}.claim_fenced($1, $2, $3, $4, $5, $6, $7, $8::jsonb)`,
    },
    claimPurchase: {
      name: 'latchkey_claim_purchase',
      text: `SELECT * FROM ${schema}.claim_purchase($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9, $10, $11, $12, $13)`,
    },
    hold: {
      name: 'latchkey_claim_hold',
      text: `SELECT ${schema}.hold_answer($1, $2, $3, $4, $5, $6, $7, $8) AS is_own`,
    },
    finish: {
      name: 'latchkey_claim_finish',
      text: `SELECT ${schema}.finish_claim($1, $2, $3, $4, $5) AS is_own`,
    },
    renew: {
      name: 'latchkey_claim_renew',
      text: `SELECT owner FROM ${schema}.renew_claims($1::text[], $2::text[], $3::bigint[], $4) AS owner`,
    },
    begin: { name: 'latchkey_claim_begin', text: `SELECT ${schema}.begin_claim($1, $2, $3) AS is_own` },
    clean: { name: 'latchkey_claim_clean', text: `SELECT ${schema}.clean_claims($1, $2, $3) AS n` },
  }
}
