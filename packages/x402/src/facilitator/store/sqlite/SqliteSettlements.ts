import { named, naming, StoreError } from '../../../db/StoreError.js'
import * as Sqlite from '../../../db/sqlite/Sqlite.js'
import { WriteProbe } from '../../../db/WriteProbe.js'
import { decideSettlement, limitsOfSettlement } from '../holdDecisions.js'
import type { HoldStore, SettlementClaim, SettlementLimits } from '../Settlement.js'
import type { Settlement, SettlementOutcome, SettlementState, SettlementStore } from '../Settlements.js'
import { amountsMigration } from './HeldAmounts.js'
import { holdsMigration, SqliteHolds } from './SqliteHolds.js'
import { limitsMigration, SqliteLimits } from './SqliteLimits.js'
import { SqliteListings } from './SqliteListings.js'

const schema = `
  CREATE TABLE IF NOT EXISTS settlements (
    transaction_id TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('pending', 'settled', 'failed')),
    network TEXT NOT NULL,
    payer TEXT NOT NULL,
    pay_to TEXT NOT NULL,
    asset TEXT NOT NULL,
    amount TEXT NOT NULL,
    members TEXT NOT NULL,
    first_valid TEXT NOT NULL,
    last_valid TEXT NOT NULL,
    fee_micro_algos TEXT NOT NULL,
    round TEXT,
    error_reason TEXT,
    error_message TEXT,
    created_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS pending_settlements ON settlements (created_ms) WHERE state = 'pending';
`
/** The additions of each version to the previous one. Version 1 is the schema above. */
const migrations: { readonly [version: number]: (nowMs: number) => string } = {
  2: () => `ALTER TABLE settlements ADD COLUMN claimant TEXT;
      CREATE INDEX paid_settlements ON settlements (created_ms) WHERE state = 'settled';`,
  3: limitsMigration,
  4: holdsMigration,
  5: amountsMigration,
}

/** The version of the tables, recorded in the file. A file of a later version is refused. */
const schemaVersion = 5

type Row = { [column: string]: string | number | null }

/** Settlements in a file, shared by the processes of one machine. */
export class SqliteSettlements implements SettlementStore {
  readonly holds: HoldStore
  readonly #holds: SqliteHolds
  readonly #path: string
  readonly #database: Sqlite.Database
  readonly #statements
  readonly #limits: SqliteLimits
  readonly #probe = new WriteProbe()
  #listings: SqliteListings | undefined
  /** Changes of one turn of the event loop are committed together, because the sync to disk is the main cost. */
  #batch: Change[] = []
  /** Settlements that are on the ledger, but not yet recorded as settled in the file. */
  readonly #soon = new Map<string, Soon>()
  #soonTimer: ReturnType<typeof setTimeout> | undefined
  /** After a failure, they are written separately, so that claims do not fail because of them. */
  #isSoonAlone = false

  /**
   * @param path the database file, created if it is missing, readable only by its owner
   * @throws {@link StoreError} that names the file: `store_too_new` for one of a later version, `store_failed` for one
   * that cannot be used; methods throw the latter too
   * @throws {@link Sqlite.SqliteError} `sqlite_missing`; no file is created then
   */
  constructor(path: string) {
    this.#path = path
    this.#database = Sqlite.openPrivate(path, { table: 'settlements', version: schemaVersion })
    prepareSchema(this.#database, path)
    const prepare = (sql: string) => this.#database.prepare(sql)
    this.#statements = {
      claim: prepare(
        `INSERT INTO settlements VALUES (?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, ?, ?, 0, ?)`,
      ),
      get: prepare('SELECT * FROM settlements WHERE transaction_id = ?'),
      // By far the most common case, which reads no other row.
      settle: prepare(
        "UPDATE settlements SET state = 'settled', round = ?1 WHERE transaction_id = ?2 AND state = 'pending'",
      ),
      finish: prepare(
        `UPDATE settlements SET state = ?1, round = ?2, error_reason = ?3, error_message = ?4
         WHERE transaction_id = ?5 AND (state = 'pending' OR (state = 'failed' AND ?1 = 'settled'))
         RETURNING pay_to, fee_micro_algos, fee_part_ms`,
      ),
      reject: prepare("UPDATE settlements SET is_rejected = ? WHERE transaction_id = ? AND state = 'pending'"),
      pending: prepare("SELECT * FROM settlements WHERE state = 'pending' ORDER BY created_ms"),
      forget: prepare("DELETE FROM settlements WHERE state <> 'pending' AND created_ms < ?"),
    }
    // Looked up with every call, because tests replace the clock.
    const nowMs = () => Date.now()
    this.#limits = new SqliteLimits(this.#database, nowMs)
    this.holds = this.#holds = new SqliteHolds({
      database: this.#database,
      get: (transactionId) => this.get(transactionId),
      check: (payment, limits) => this.#limits.check(payment, limits),
      countRates: (payment, limits) => this.#limits.countRates(payment, limits),
      nowMs,
      read: (work) => this.#read(work),
      change: (make, options) => this.#change(make, options),
    })
  }

  get listings(): SqliteListings {
    this.#listings ??= new SqliteListings(this.#database, (work) => this.#read(work))
    return this.#listings
  }

  claim(one: Settlement, limits: SettlementLimits): Promise<SettlementClaim> {
    return this.#change(() => this.#claim(one, limits))
  }

  /** Runs in a write transaction, so that no other process counts meanwhile. */
  #claim(one: Settlement, limits: SettlementLimits): SettlementClaim {
    const { transactionId, claimant } = one
    const settlement = this.get(transactionId)
    const admission = this.#holds.admission(transactionId)
    const decision = decideSettlement({
      isRecorded: settlement !== undefined,
      heldFor: this.#holds.find(transactionId),
      claimant,
      limit: this.#limits.check(one, limitsOfSettlement(limits, admission)),
    })
    if (decision.type === 'known') return { type: 'known', settlement: settlement! }
    if (decision.type === 'recorded') {
      const feePartMs = this.#limits.feePart()
      this.#insert(one, feePartMs)
      this.#holds.settle(one)
      if (!admission?.isPaidAfterwards) this.#limits.countRates(one, limits)
      this.#limits.changeFee(one.payTo, feePartMs, one.feeMicroAlgos)
    }
    return decision
  }

  #insert(one: Settlement, feePartMs: number): void {
    const members = JSON.stringify(one.group.map((bytes) => Buffer.from(bytes).toString('base64')))
    this.#statements.claim.run(
      one.transactionId,
      one.network,
      one.payer,
      one.payTo,
      one.asset,
      one.amount,
      members,
      one.firstValid.toString(),
      one.lastValid.toString(),
      one.feeMicroAlgos.toString(),
      one.createdMs,
      one.claimant ?? null,
      feePartMs,
    )
  }

  get(transactionId: string): Settlement | undefined {
    const row = this.#read(() => this.#statements.get.get(transactionId) as Row | undefined)
    if (row === undefined) return undefined
    const settlement = settlementOf(row)
    const soon = this.#soon.get(transactionId)
    if (soon === undefined || settlement.state === 'settled') return settlement
    return { ...settlement, errorReason: undefined, errorMessage: undefined, ...soon.outcome }
  }

  async finish(transactionId: string, outcome: SettlementOutcome): Promise<Settlement | undefined> {
    const hasEnded = await this.#change(() => this.#finish(transactionId, outcome))
    return hasEnded ? undefined : this.get(transactionId)
  }

  /** Returns whether this call ended the settlement. */
  #finish(transactionId: string, { state, round, errorReason, errorMessage }: SettlementOutcome): boolean {
    const roundText = round === undefined ? null : round.toString()
    const { settle, finish } = this.#statements
    this.#holds.end(transactionId, state === 'settled')
    if (state === 'settled' && Number(settle.run(roundText, transactionId).changes) === 1) return true
    const values = [state, roundText, errorReason ?? null, errorMessage ?? null, transactionId]
    const row = finish.get(...values) as Row | undefined
    if (row === undefined) return false
    const fee = BigInt(row['fee_micro_algos'] as string)
    // The fee is returned, or counted again because the ledger has a settlement that had failed.
    const change = state === 'failed' ? -fee : fee
    this.#limits.changeFee(row['pay_to'] as string, Number(row['fee_part_ms']), change)
    return true
  }

  /** Written with the next change, or after some milliseconds. One sync to disk is enough for both. */
  settleSoon(transactionId: string, outcome: SettlementOutcome, onError: (error: unknown) => void): void {
    this.#soon.set(transactionId, { outcome, onError, isReported: false })
    this.#soonTimer ??= setTimeout(() => this.#commitSoon(), soonMs)
  }

  async setRejected(transactionId: string, isRejected: boolean): Promise<void> {
    await this.#change(() => this.#statements.reject.run(isRejected ? 1 : 0, transactionId))
  }

  check(
    payment: Pick<Settlement, 'payer' | 'payTo' | 'feeMicroAlgos'>,
    limits: SettlementLimits,
  ): keyof SettlementLimits | undefined {
    const limit = this.#read(() => this.#limits.check(payment, limits))
    const isOfPending = limit === 'pendingPerPayer' || limit === 'pendingPerPayTo'
    if (!isOfPending || this.#soon.size === 0) return limit
    this.#commitSoon()
    return this.#read(() => this.#limits.check(payment, limits))
  }

  pending(): Settlement[] {
    this.#commitSoon()
    const rows = this.#read(() => this.#statements.pending.all() as Row[])
    return rows.map(settlementOf).filter(({ transactionId }) => !this.#soon.has(transactionId))
  }

  forgetBefore(createdMs: number): void {
    this.#read(() => this.#statements.forget.run(createdMs))
    this.#read(() => this.#limits.deleteOld())
  }

  /** Takes the lock of a writer, and writes every few seconds, because the disk may be full. */
  async ping(): Promise<void> {
    const isWriting = this.#probe.isDue
    await this.#change(() => (isWriting ? this.#limits.countPing() : undefined))
    if (isWriting) this.#probe.done()
  }

  close(): void {
    this.#commit()
    this.#commitSoon()
    clearTimeout(this.#soonTimer)
    this.#database.close()
  }

  #read<T>(work: () => T): T {
    return naming(this.#path, work)
  }

  #change<T>(make: () => T, { isSynced = true }: { readonly isSynced?: boolean } = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#batch.length === 0) setImmediate(() => this.#commit())
      this.#batch.push({ make, isSynced, resolve: resolve as Change['resolve'], reject })
    })
  }

  #commit(): void {
    const batch = this.#batch
    if (batch.length === 0) return
    this.#batch = []
    try {
      const work = () => this.#transact(!this.#isSoonAlone, () => batch.map(({ make }) => make()))
      const results = batch.some(({ isSynced }) => isSynced) ? work() : this.#unsynced(work)
      for (const [index, { resolve }] of batch.entries()) resolve(results[index])
    } catch (error) {
      for (const { reject } of batch) reject(named(this.#path, error))
    }
  }

  /** Commits without waiting for the disk. A killed process loses nothing, a machine without power the last moments. */
  #unsynced<T>(work: () => T): T {
    this.#database.exec('PRAGMA synchronous = NORMAL')
    try {
      return work()
    } finally {
      this.#database.exec('PRAGMA synchronous = FULL')
    }
  }

  #commitSoon(): void {
    if (this.#soon.size === 0) return
    try {
      this.#transact(true, () => undefined)
    } catch {
      // The error is reported, and the commit is retried.
    }
  }

  /**
   * Commits all changes or none, and reports them after they are on the disk. Pending `settleSoon` outcomes come first,
   * so that they do not count.
   */
  #transact<T>(withSoon: boolean, work: () => T): T {
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      if (withSoon) for (const [transactionId, { outcome }] of this.#soon) this.#finish(transactionId, outcome)
      const result = work()
      this.#database.exec('COMMIT')
      if (withSoon) this.#endSoon()
      return result
    } catch (error) {
      if (withSoon) this.#retrySoon()
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      if (withSoon) this.#reportSoon(named(this.#path, error))
      throw error
    }
  }

  #endSoon(): void {
    this.#soon.clear()
    this.#isSoonAlone = false
    clearTimeout(this.#soonTimer)
    this.#soonTimer = undefined
  }

  #retrySoon(): void {
    if (this.#soon.size === 0) return
    this.#isSoonAlone = true
    clearTimeout(this.#soonTimer)
    this.#soonTimer = setTimeout(() => this.#commitSoon(), retryMs)
  }

  #reportSoon(error: unknown): void {
    for (const one of this.#soon.values()) {
      if (one.isReported) continue
      one.isReported = true
      one.onError(error)
    }
  }
}

type Soon = { readonly outcome: SettlementOutcome; readonly onError: (error: unknown) => void; isReported: boolean }

/** How long another process that uses the file may see a settlement as pending although it is on the ledger. */
const soonMs = 50
const retryMs = 1_000

type Change = {
  make: () => unknown
  /** Whether the change is on the disk before it is reported. */
  isSynced: boolean
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

/** Runs under the lock of the file, so that only one of several processes migrates it. */
function prepareSchema(database: Sqlite.Database, path: string): void {
  try {
    naming(path, () => {
      database.exec('BEGIN IMMEDIATE')
      const { user_version: found } = database.prepare('PRAGMA user_version').get() as { user_version: number }
      if (found > schemaVersion) {
        throw new StoreError('store_too_new', `${path} was written by a later version of this program`)
      }
      if (found === 0) database.exec(schema)
      for (let version = Math.max(found, 1) + 1; version <= schemaVersion; version++) {
        database.exec(migrations[version]!(Date.now()))
      }
      database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT;`)
    })
  } catch (error) {
    database.close()
    throw error
  }
}

function settlementOf(row: Row): Settlement {
  const text = (column: string): string => row[column] as string
  return {
    transactionId: text('transaction_id'),
    state: text('state') as SettlementState,
    network: text('network'),
    payer: text('payer'),
    payTo: text('pay_to'),
    asset: text('asset'),
    amount: text('amount'),
    group: (JSON.parse(text('members')) as string[]).map((member) => new Uint8Array(Buffer.from(member, 'base64'))),
    firstValid: BigInt(text('first_valid')),
    lastValid: BigInt(text('last_valid')),
    feeMicroAlgos: BigInt(text('fee_micro_algos')),
    round: row['round'] === null ? undefined : BigInt(text('round')),
    errorReason: (row['error_reason'] as string | null) ?? undefined,
    errorMessage: (row['error_message'] as string | null) ?? undefined,
    claimant: (row['claimant'] as string | null) ?? undefined,
    createdMs: Number(row['created_ms']),
  }
}
