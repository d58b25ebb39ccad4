import type * as Sqlite from '../../../db/sqlite/Sqlite.js'
import {
  activeMs,
  type Listing,
  type ListingCaps,
  type ListingCount,
  type ListingPage,
  type ListingQuery,
  type ListingStore,
  ranked,
  type SearchedListing,
  scopes,
} from '../Listings.js'
import { listingOf, type ListingRow as Row, searchedOf, valuesOf } from '../listingRows.js'

/**
 * Created by facilitators with a catalogue only. Older versions of the program ignore the tables. The contents are apart,
 * because a search reads all rows of the first table.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS listings (
    key TEXT PRIMARY KEY,
    resource TEXT NOT NULL,
    method TEXT NOT NULL,
    origin TEXT NOT NULL,
    pay_to TEXT NOT NULL,
    facets TEXT NOT NULL,
    words TEXT NOT NULL,
    first_settled_ms INTEGER NOT NULL,
    last_settled_ms INTEGER NOT NULL,
    confirmed_ms INTEGER NOT NULL,
    settle_count INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS listing_contents (key TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT;
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
  #copy: Copy = { version: -1, listings: [], readMs: 0, tookMs: 0 }
  /** Whether this connection has changed listings since the copy was read. */
  #isChanged = false

  constructor(database: Sqlite.Database, run: Run) {
    this.#database = database
    this.#run = run
    run(() => database.exec(schema))
    const prepare = (sql: string) => run(() => database.prepare(sql))
    this.#statements = {
      get: prepare('SELECT * FROM listings JOIN listing_contents USING (key) WHERE key = ?'),
      put: prepare(
        `INSERT INTO listings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (key) DO UPDATE SET resource = excluded.resource, method = excluded.method,
           origin = excluded.origin, pay_to = excluded.pay_to, facets = excluded.facets,
           words = excluded.words, last_settled_ms = max(last_settled_ms, excluded.last_settled_ms),
           confirmed_ms = excluded.confirmed_ms, settle_count = settle_count + excluded.settle_count`,
      ),
      count: prepare(
        `UPDATE listings SET settle_count = settle_count + ?1, last_settled_ms = max(last_settled_ms, ?2)
         WHERE key = ?3 AND pay_to = ?4`,
      ),
      version: prepare('PRAGMA data_version'),
      searched: prepare('SELECT key, facets, words, settle_count, last_settled_ms FROM listings'),
      putContent: prepare('INSERT OR REPLACE INTO listing_contents VALUES (?, ?)'),
      delete: prepare('DELETE FROM listings WHERE key = ?'),
      deleteContent: prepare('DELETE FROM listing_contents WHERE key = ?'),
      forget: prepare('DELETE FROM listings WHERE last_settled_ms < ?'),
      forgetContents: prepare('DELETE FROM listing_contents WHERE key NOT IN (SELECT key FROM listings)'),
      scopes: scopes.map(({ cap, column, member }) => {
        const isOther = 'key NOT IN (SELECT value FROM json_each(?2))'
        const where = `${column === undefined ? '?1 = ?1' : `${column} = ?1`} AND ${isOther}`
        return {
          cap,
          member,
          count: prepare(`SELECT count(*) AS count FROM listings WHERE ${where}`),
          least: prepare(
            `SELECT key, settle_count, last_settled_ms >= ?3 AS is_active FROM listings WHERE ${where}
             ORDER BY is_active, settle_count, last_settled_ms LIMIT 1`,
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
    return this.#transact(() => {
      const replaced = this.#roomFor(listing, caps)
      if (replaced === undefined) return false
      for (const key of replaced) this.#delete(key)
      const values = valuesOf(listing)
      this.#statements.put.run(...values.slice(0, -1))
      this.#statements.putContent.run(listing.key, values.at(-1)!)
      return true
    })
  }

  /** Commits all changes or none. */
  #transact<T>(work: () => T): T {
    return this.#run(() => {
      this.#database.exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        this.#database.exec('COMMIT')
        this.#isChanged = true
        return result
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
        throw error
      }
    })
  }

  /** The listings that make room; undefined if none can. */
  #roomFor(listing: Listing, caps: ListingCaps): readonly string[] | undefined {
    const known = this.#statements.get.get(listing.key) as Row | undefined
    const replaced = [listing.key]
    for (const { cap, member, count, least } of this.#statements.scopes) {
      // A listing that stays in its scope needs no room there.
      if (known !== undefined && (member !== 'payTo' || known['pay_to'] === listing.payTo)) continue
      const values = [member === undefined ? '' : listing[member], JSON.stringify(replaced)]
      if (Number((count.get(...values) as Row)['count']) < caps[cap]) continue
      const other = least.get(...values, listing.lastSettledMs - activeMs) as Row | undefined
      if (other === undefined) return undefined
      if (Number(other['is_active']) === 1 && Number(other['settle_count']) > listing.settleCount) return undefined
      replaced.push(other['key'] as string)
    }
    return replaced.slice(1)
  }

  #delete(key: string): void {
    this.#statements.delete.run(key)
    this.#statements.deleteContent.run(key)
  }

  count(counts: readonly ListingCount[]): void {
    this.#transact(() => {
      for (const { key, payTo, count, settledMs } of counts) this.#statements.count.run(count, settledMs, key, payTo)
    })
  }

  /** Searches a copy in memory, because SQLite would take ten times as long and block the process for that time. */
  find(query: ListingQuery): ListingPage {
    return this.#run(() => {
      const { page, total } = ranked(this.#searched(), query)
      const rows = page.map(({ key }) => this.#statements.get.get(key) as Row | undefined)
      return { listings: rows.filter((row) => row !== undefined).map(listingOf), total }
    })
  }

  /**
   * The copy, read again if the file has changed. If reading takes long, the copy is used for a while, so that queries
   * do not slow down settlements.
   */
  #searched(): readonly SearchedListing[] {
    const version = Number((this.#statements.version.get() as Row)['data_version'])
    const { listings, readMs, tookMs } = this.#copy
    const isCurrent = version === this.#copy.version && !this.#isChanged
    const isPaced = tookMs > paceFromMs && performance.now() - readMs < tookMs * paceFactor
    if (isCurrent || isPaced) return listings
    const startedMs = performance.now()
    const read = (this.#statements.searched.all() as Row[]).map(searchedOf)
    const nowMs = performance.now()
    this.#copy = { version, listings: read, readMs: nowMs, tookMs: nowMs - startedMs }
    this.#isChanged = false
    return read
  }

  delete(key: string): void {
    this.#transact(() => this.#delete(key))
  }

  forgetBefore(settledMs: number): void {
    this.#transact(() => {
      this.#statements.forget.run(settledMs)
      this.#statements.forgetContents.run()
    })
  }
}

/** Reading the copy takes at most a twentieth of the time, if it takes long. */
const paceFactor = 20
const paceFromMs = 10

type Copy = {
  /** The number of changes by other connections. */
  readonly version: number
  readonly listings: readonly SearchedListing[]
  readonly readMs: number
  readonly tookMs: number
}
