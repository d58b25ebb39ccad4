import type * as Sqlite from '../../../db/sqlite/Sqlite.js'
import {
  type Listing,
  type ListingCaps,
  type ListingCount,
  type ListingPage,
  type ListingQuery,
  type ListingStore,
  scopes,
} from '../Listings.js'
import { listingOf, type ListingRow as Row, valuesOf } from '../listingRows.js'

/** Created by facilitators with a catalogue only. Older versions of the program ignore the table. */
const schema = `
  CREATE TABLE IF NOT EXISTS listings (
    key TEXT PRIMARY KEY,
    resource TEXT NOT NULL,
    method TEXT NOT NULL,
    origin TEXT NOT NULL,
    pay_to TEXT NOT NULL,
    content TEXT NOT NULL,
    facets TEXT NOT NULL,
    words TEXT NOT NULL,
    first_settled_ms INTEGER NOT NULL,
    last_settled_ms INTEGER NOT NULL,
    confirmed_ms INTEGER NOT NULL,
    settle_count INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS listings_of_pay_to ON listings (pay_to, settle_count, last_settled_ms);
  CREATE INDEX IF NOT EXISTS listings_of_origin ON listings (origin, settle_count, last_settled_ms);
  CREATE INDEX IF NOT EXISTS listings_by_count ON listings (settle_count, last_settled_ms);
`

/** Runs work and names the file in errors. */
type Run = <T>(work: () => T) => T

/** The catalogue in the file of the settlements, shared by the processes of one machine. */
export class SqliteListings implements ListingStore {
  readonly #database: Sqlite.Database
  readonly #run: Run
  readonly #statements

  constructor(database: Sqlite.Database, run: Run) {
    this.#database = database
    this.#run = run
    run(() => database.exec(schema))
    const prepare = (sql: string) => run(() => database.prepare(sql))
    const isWanted = `last_settled_ms >= ?1 AND NOT EXISTS (SELECT 1 FROM json_each(?2) WHERE instr(facets, value) = 0)`
    const score = `(SELECT count(*) FROM json_each(?3) WHERE instr(words, value) > 0)`
    const isFound = `(json_array_length(?3) = 0 OR EXISTS (SELECT 1 FROM json_each(?3) WHERE instr(words, value) > 0))`
    this.#statements = {
      get: prepare('SELECT * FROM listings WHERE key = ?'),
      put: prepare(
        `INSERT INTO listings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (key) DO UPDATE SET resource = excluded.resource, method = excluded.method,
           origin = excluded.origin, pay_to = excluded.pay_to, content = excluded.content, facets = excluded.facets,
           words = excluded.words, last_settled_ms = max(last_settled_ms, excluded.last_settled_ms),
           confirmed_ms = excluded.confirmed_ms, settle_count = settle_count + excluded.settle_count`,
      ),
      count: prepare(
        `UPDATE listings SET settle_count = settle_count + ?1, last_settled_ms = max(last_settled_ms, ?2)
         WHERE key = ?3 AND pay_to = ?4`,
      ),
      find: prepare(
        `SELECT * FROM listings WHERE ${isWanted} AND ${isFound}
         ORDER BY ${score} DESC, settle_count DESC, last_settled_ms DESC, key LIMIT ?4 OFFSET ?5`,
      ),
      total: prepare(`SELECT count(*) AS total FROM listings WHERE ${isWanted} AND ${isFound}`),
      delete: prepare('DELETE FROM listings WHERE key = ?'),
      forget: prepare('DELETE FROM listings WHERE last_settled_ms < ?'),
      scopes: scopes.map(({ cap, column, member }) => {
        const where = column === undefined ? '?1 = ?1' : `${column} = ?1`
        return {
          cap,
          member,
          count: prepare(`SELECT count(*) AS count FROM listings WHERE ${where} AND key <> ?2`),
          least: prepare(
            `SELECT key, settle_count FROM listings WHERE ${where} AND key <> ?2
             ORDER BY settle_count, last_settled_ms LIMIT 1`,
          ),
        }
      }),
    }
  }

  get(key: string): Listing | undefined {
    const row = this.#run(() => this.#statements.get.get(key) as Row | undefined)
    return row === undefined ? undefined : listingOf(row)
  }

  put(listing: Listing, caps: ListingCaps): boolean {
    return this.#run(() => {
      this.#database.exec('BEGIN IMMEDIATE')
      try {
        const isRoom = this.#makeRoom(listing, caps)
        if (isRoom) this.#statements.put.run(...valuesOf(listing))
        this.#database.exec(isRoom ? 'COMMIT' : 'ROLLBACK')
        return isRoom
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
        throw error
      }
    })
  }

  #makeRoom(listing: Listing, caps: ListingCaps): boolean {
    const known = this.#statements.get.get(listing.key) as Row | undefined
    for (const { cap, member, count, least } of this.#statements.scopes) {
      // A listing that stays in its scope needs no room there.
      if (known !== undefined && (member !== 'payTo' || known['pay_to'] === listing.payTo)) continue
      const values = [member === undefined ? '' : listing[member], listing.key]
      if (Number((count.get(...values) as Row)['count']) < caps[cap]) continue
      const other = least.get(...values) as Row | undefined
      if (other === undefined || Number(other['settle_count']) > listing.settleCount) return false
      this.#statements.delete.run(other['key'] as string)
    }
    return true
  }

  count(counts: readonly ListingCount[]): void {
    this.#run(() => {
      this.#database.exec('BEGIN IMMEDIATE')
      try {
        for (const { key, payTo, count, settledMs } of counts) {
          this.#statements.count.run(count, settledMs, key, payTo)
        }
        this.#database.exec('COMMIT')
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
        throw error
      }
    })
  }

  find({ facets, terms, sinceMs, limit, offset }: ListingQuery): ListingPage {
    return this.#run(() => {
      const values = [sinceMs, JSON.stringify(facets.map((facet) => ` ${facet} `)), JSON.stringify(terms)]
      const rows = this.#statements.find.all(...values, limit, offset) as Row[]
      const { total } = this.#statements.total.get(...values) as { total: number }
      return { listings: rows.map(listingOf), total: Number(total) }
    })
  }

  delete(key: string): void {
    this.#run(() => this.#statements.delete.run(key))
  }

  forgetBefore(settledMs: number): void {
    this.#run(() => this.#statements.forget.run(settledMs))
  }
}
