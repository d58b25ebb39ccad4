import { Bytes } from '@latchkey/algorand'
import { naming, StoreError } from '../../../db/StoreError.js'
import * as Sqlite from '../../../db/sqlite/Sqlite.js'
import {
  bytesOf,
  type ClaimEnd,
  type ClaimLease,
  type ClaimRenewals,
  type ClaimResult,
  type ClaimStore,
  decideClaim,
  type HeldAnswer,
  type HeldClaim,
  keepServedMs,
  type StoredClaim,
} from '../Claims.js'
import { SqlitePasses } from './SqlitePasses.js'
import { SqlitePurchases } from './SqlitePurchases.js'
import { SqliteSales, salesSchema, claimsVersion as version } from './SqliteSales.js'
import { SqliteUsage } from './SqliteUsage.js'

/** Version 1, from before answers were held. */
const firstSchema = `
  CREATE TABLE IF NOT EXISTS claims (
    transaction_id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('serving', 'open', 'served')),
    until_ms INTEGER NOT NULL,
    network TEXT NOT NULL,
    forget_round INTEGER NOT NULL,
    times INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS claims_by_round ON claims (network, forget_round);
`
const secondSchema = `
  ALTER TABLE claims ADD COLUMN binding TEXT NOT NULL DEFAULT '';
  ALTER TABLE claims ADD COLUMN is_done INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE store (id TEXT NOT NULL) STRICT;
  CREATE TABLE answers (
    transaction_id TEXT PRIMARY KEY REFERENCES claims ON DELETE CASCADE,
    status INTEGER NOT NULL,
    headers TEXT NOT NULL,
    body BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    -- When it is deleted; null until it was served.
    delete_ms INTEGER
  ) STRICT;
  CREATE INDEX answers_by_time ON answers (delete_ms, bytes);
`
/**
 * Version 4 has short leases. A process of version 3 that has the file open continues to work: it does not know the
 * fence of a claim, takes a begun claim for done, and leaves an owner that differs from the fenced one.
 */
const leasesSchema = `
  ALTER TABLE store ADD COLUMN last_fence INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE claims ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE claims ADD COLUMN fenced_owner TEXT NOT NULL DEFAULT '';
  -- Whether it counts as done only because its handler began.
  ALTER TABLE claims ADD COLUMN is_begun INTEGER NOT NULL DEFAULT 0;
`
/** How many claims are made between two deletions of old ones. */
const cleanEvery = 1_000
const defaultMaxHeldBytes = 256 * 1024 * 1024

/** Options of {@link SqliteClaims}. */
export type SqliteClaimsOptions = {
  /**
   * The total size of held answers, in bytes.
   *
   * @default 256 MiB
   */
  maxHeldBytes?: number | undefined
  /**
   * How many sales are kept. Totals by day and route continue to count.
   *
   * @default 100_000
   */
  maxSales?: number | undefined
}

/** Claims in a file, shared by the processes of one machine. */
export class SqliteClaims implements ClaimStore {
  readonly id: string
  readonly passes: SqlitePasses
  readonly sales: SqliteSales
  readonly usage: SqliteUsage
  readonly hasPurchases = true
  readonly renewals: ClaimRenewals = {
    renew: (claims, leaseMs, nowMs) => this.#renew(claims, nowMs + leaseMs),
    begin: (claim) => this.#begin(claim),
  }
  readonly #path: string
  readonly #database: Sqlite.Database
  readonly #statements
  readonly #purchases: SqlitePurchases
  readonly #maxHeldBytes: number
  #count = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /**
   * @param path the database file, created if it is missing, readable only by its owner
   * @throws {@link StoreError} that names the file: `store_too_new` for one of a later version, `store_failed` for one
   * that cannot be used; methods throw the latter too
   * @throws {@link Sqlite.SqliteError} `sqlite_missing`; no file is created then
   */
  constructor(path: string, { maxHeldBytes = defaultMaxHeldBytes, maxSales }: SqliteClaimsOptions = {}) {
    this.#path = path
    this.#maxHeldBytes = maxHeldBytes
    this.#database = Sqlite.openPrivate(path, { table: 'claims', version })
    this.#database.exec('PRAGMA foreign_keys = ON')
    this.#migrate()
    this.id = (this.#database.prepare('SELECT id FROM store').get() as { id: string }).id
    this.#statements = prepareAll(this.#database)
    this.passes = new SqlitePasses(path, this.#database)
    this.#purchases = naming(path, () => new SqlitePurchases(this.#database))
    const inTransaction = <T>(work: () => T): T => this.#inTransaction(work)
    this.sales = new SqliteSales({ database: this.#database, inTransaction, maxSales, path })
    this.usage = new SqliteUsage({ database: this.#database, inTransaction, path })
  }

  has(transactionId: string): boolean {
    return naming(this.#path, () => this.#statements.has.get(transactionId) !== undefined)
  }

  claim(transactionId: string, lease: ClaimLease): ClaimResult {
    return this.#inTransaction(() => {
      const { owner, binding, nowMs, leaseMs, network, round, forgetRound } = lease
      this.#statements.expire.run(nowMs)
      if (this.#count++ % cleanEvery === 0) this.#statements.forget.run(network, round)
      const { purchase } = lease
      const other = purchase && this.#purchases.other(transactionId, purchase)
      if (other !== undefined) return { type: 'purchased', purchase: other }
      const known = this.#read(transactionId)
      const type = decideClaim(known, lease)
      if (type === 'busy' || type === 'taken') return { type }
      const { last_fence: last } = this.#statements.fence.get() as { last_fence: number | bigint }
      const fence = Number(last)
      const isDone = type === 'held' ? 1 : 0
      this.#statements.claim.run(transactionId, owner, nowMs + leaseMs, network, forgetRound, binding, fence, isDone)
      this.#statements.keep.run(null, transactionId)
      if (purchase !== undefined) this.#purchases.add(transactionId, binding, purchase)
      if (lease.sale !== undefined) this.sales.recordOne(lease.sale)
      return type === 'held' ? { type, answer: this.#answer(transactionId), fence } : { type, fence }
    })
  }

  hold(transactionId: string, owner: string, answer: HeldAnswer, fence?: number): boolean {
    return this.#inTransaction(() => {
      if (this.#statements.done.run(transactionId, owner, fence ?? null).changes === 0) return false
      const bytes = bytesOf(answer)
      if (!this.#makeRoom(bytes)) return true
      const { status, headers, body } = answer
      this.#statements.hold.run(transactionId, status, JSON.stringify(headers), body, bytes)
      return true
    })
  }

  finish(transactionId: string, owner: string, end: ClaimEnd, nowMs: number, fence?: number): boolean {
    return this.#inTransaction(() => {
      const own = [transactionId, owner, fence ?? null] as const
      const { changes: ended } =
        end === 'forgotten' ? this.#statements.drop.run(...own) : this.#statements.end.run(...own, end)
      if (ended === 0) return this.#statements.has.get(transactionId) === undefined
      if (end === 'forgotten') return true
      const { changes } = this.#statements.keep.run(end === 'served' ? nowMs + keepServedMs : null, transactionId)
      if (changes !== 0 && end === 'served') this.#expireLater()
      return true
    })
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#database.close()
  }

  #renew(claims: readonly HeldClaim[], untilMs: number): string[] {
    return this.#inTransaction(() =>
      claims.flatMap(({ transactionId, owner, fence }) =>
        this.#statements.renew.run(transactionId, owner, fence, untilMs).changes === 0 ? [] : owner,
      ),
    )
  }

  #begin({ transactionId, owner, fence }: HeldClaim): boolean {
    return naming(this.#path, () => this.#statements.begin.run(transactionId, owner, fence).changes !== 0)
  }

  #read(transactionId: string): StoredClaim | undefined {
    const row = this.#statements.read.get(transactionId) as Row | undefined
    if (row === undefined) return undefined
    const { state, binding } = row
    // A process of the previous version does not record whether the handler began.
    const mayBeBegun = state === 'serving' && Number(row.is_fenced) === 0
    return {
      state,
      binding,
      untilMs: Number(row.until_ms),
      isDone: Number(row.is_done) === 1 || mayBeBegun,
      hasAnswer: Number(row.has_answer) === 1,
    }
  }

  #answer(transactionId: string): HeldAnswer | undefined {
    const row = this.#statements.answer.get(transactionId) as AnswerRow | undefined
    if (row === undefined) return undefined
    const body = new Uint8Array(row.body)
    return { status: Number(row.status), headers: JSON.parse(row.headers) as HeldAnswer['headers'], body }
  }

  /** Deletes served answers, the oldest first, until there is room. */
  #makeRoom(bytes: number): boolean {
    for (;;) {
      const { sum } = this.#statements.sum.get() as { sum: number | bigint }
      if (Number(sum) + bytes <= this.#maxHeldBytes) return true
      if (this.#statements.evict.run().changes === 0) return false
    }
  }

  /** Also deletes answers if the seller gets no further requests. */
  #expireLater(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      try {
        this.#statements.expire.run(Date.now())
      } catch {
        // The next claim deletes them.
      }
    }, keepServedMs + 1_000)
    this.#timer.unref?.()
  }

  #migrate(): void {
    this.#inTransaction(() => {
      const { user_version: found } = this.#database.prepare('PRAGMA user_version').get() as { user_version: number }
      if (Number(found) > version) {
        throw new StoreError('store_too_new', `${this.#path} was written by a later version of this program`)
      }
      if (Number(found) === version) return
      if (Number(found) < 2) {
        this.#database.exec(firstSchema)
        this.#database.exec(secondSchema)
        this.#database.prepare('INSERT INTO store VALUES (?)').run(Bytes.toHex(Bytes.random(16)))
      }
      if (Number(found) < 3) this.#database.exec(salesSchema)
      this.#database.exec(leasesSchema)
      this.#database.exec(`PRAGMA user_version = ${version}`)
    })
  }

  /** Takes the write lock first, so that only one process decides at a time. */
  #inTransaction<T>(work: () => T): T {
    return naming(this.#path, () => {
      this.#database.exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        this.#database.exec('COMMIT')
        return result
      } catch (error) {
        try {
          this.#database.exec('ROLLBACK')
        } catch {
          // SQLite has already rolled back, for example because the disk is full.
        }
        throw error
      }
    })
  }
}

type Row = {
  state: StoredClaim['state']
  binding: string
  until_ms: number | bigint
  is_done: number | bigint
  is_fenced: number | bigint
  has_answer: number | bigint
}
type AnswerRow = { status: number | bigint; headers: string; body: Uint8Array }

/** The claim of an owner. Without a fence, older callers are supported. */
const own = 'transaction_id = ?1 AND owner = ?2 AND (?3 IS NULL OR fence = ?3)'

function prepareAll(database: Sqlite.Database) {
  const prepare = (sql: string) => database.prepare(sql)
  return {
    has: prepare('SELECT 1 FROM claims WHERE transaction_id = ?'),
    read: prepare(
      `SELECT state, binding, until_ms, is_done, owner = fenced_owner AS is_fenced, a.transaction_id IS NOT NULL AS has_answer
       FROM claims c LEFT JOIN answers a USING (transaction_id) WHERE c.transaction_id = ?`,
    ),
    claim: prepare(
      `INSERT INTO claims (transaction_id, owner, state, until_ms, network, forget_round, times, binding, fence, fenced_owner)
       VALUES (?1, ?2, 'serving', ?3, ?4, ?5, 1, ?6, ?7, ?2)
       ON CONFLICT (transaction_id)
       DO UPDATE SET owner = ?2, state = 'serving', until_ms = ?3, times = times + 1, binding = ?6, fence = ?7,
         fenced_owner = ?2, is_done = ?8, is_begun = 0`,
    ),
    fence: prepare('UPDATE store SET last_fence = last_fence + 1 RETURNING last_fence'),
    renew: prepare(`UPDATE claims SET until_ms = ?4 WHERE ${own} AND state = 'serving'`),
    begin: prepare(
      `UPDATE claims SET is_begun = max(is_begun, 1 - is_done), is_done = 1 WHERE ${own} AND state = 'serving'`,
    ),
    done: prepare(`UPDATE claims SET is_done = 1, is_begun = 0 WHERE ${own}`),
    end: prepare(
      `UPDATE claims SET state = ?4, is_done = is_done - (is_begun AND ?4 = 'open'), is_begun = is_begun AND ?4 <> 'open'
       WHERE ${own}`,
    ),
    drop: prepare(`DELETE FROM claims WHERE ${own}`),
    forget: prepare('DELETE FROM claims WHERE network = ? AND forget_round < ?'),
    answer: prepare('SELECT status, headers, body FROM answers WHERE transaction_id = ?'),
    hold: prepare('INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, NULL)'),
    keep: prepare('UPDATE answers SET delete_ms = ? WHERE transaction_id = ?'),
    expire: prepare('DELETE FROM answers WHERE delete_ms <= ?'),
    evict: prepare(
      `DELETE FROM answers WHERE transaction_id =
         (SELECT transaction_id FROM answers WHERE delete_ms IS NOT NULL ORDER BY delete_ms LIMIT 1)`,
    ),
    sum: prepare('SELECT COALESCE(SUM(bytes), 0) AS sum FROM answers'),
  }
}
