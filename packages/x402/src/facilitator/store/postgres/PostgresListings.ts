/** The catalogue in PostgreSQL, shared by all replicas. */
import type { PostgresConnection, Statement } from '../../../db/postgres/PostgresConnection.js'
import {
  activeMs,
  type Listing,
  type ListingCaps,
  type ListingCount,
  type ListingPage,
  type ListingQuery,
  type ListingStore,
  scopes,
} from '../Listings.js'
import { listingOf, type ListingRow as Row, valuesOf } from '../listingRows.js'

/** Version 4 of the facilitator's tables. The content is text: `jsonb` refuses some texts that JSON allows. */
export const listingTable = `
CREATE TABLE {schema}.listings (
  key text PRIMARY KEY,
  resource text NOT NULL,
  method text NOT NULL,
  origin text NOT NULL,
  pay_to text NOT NULL,
  facets text NOT NULL,
  words text NOT NULL,
  first_settled_ms bigint NOT NULL,
  last_settled_ms bigint NOT NULL,
  confirmed_ms bigint NOT NULL,
  settle_count bigint NOT NULL,
  content text NOT NULL
);
CREATE INDEX listings_of_pay_to ON {schema}.listings (pay_to, settle_count, last_settled_ms);
CREATE INDEX listings_of_origin ON {schema}.listings (origin, settle_count, last_settled_ms);
CREATE INDEX listings_by_count ON {schema}.listings (settle_count, last_settled_ms);
`

export const listingGrants = ['GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.listings TO {role}']

/** The first part of the key of the advisory lock. The schema determines the rest. */
const lockClass = 0x6c63

export class PostgresListings implements ListingStore {
  readonly #connection: PostgresConnection
  readonly #table: string
  readonly #get: Statement
  readonly #count: Statement
  readonly #delete: Statement
  readonly #forget: Statement
  #lastPut: Promise<unknown> = Promise.resolve()

  constructor(connection: PostgresConnection) {
    this.#connection = connection
    const table = `${connection.quotedSchema}.listings`
    this.#table = table
    const statement = (name: string, text: string): Statement => ({ name: `latchkey_listings_${name}`, text })
    this.#get = statement('get', `SELECT * FROM ${table} WHERE key = $1`)
    this.#count = statement(
      'count',
      `UPDATE ${table} l SET settle_count = l.settle_count + c.count,
         last_settled_ms = greatest(l.last_settled_ms, c.settled_ms)
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS c (key, pay_to, count, settled_ms)
       WHERE l.key = c.key AND l.pay_to = c.pay_to`,
    )
    this.#delete = statement('delete', `DELETE FROM ${table} WHERE key = $1`)
    this.#forget = statement('forget', `DELETE FROM ${table} WHERE last_settled_ms < $1::bigint`)
  }

  async get(key: string): Promise<Listing | undefined> {
    const [row] = await this.#connection.read<Row>(this.#get, [key])
    return row === undefined ? undefined : listingOf(row)
  }

  /** One at a time, so that entries never take more than one of the connections that settlements need. */
  put(listing: Listing, caps: ListingCaps): Promise<boolean> {
    const put = this.#lastPut.then(() => this.#put(listing, caps))
    this.#lastPut = put.catch(() => {})
    return put
  }

  #put(listing: Listing, caps: ListingCaps): Promise<boolean> {
    return this.#connection.transaction(async (query) => {
      // Replicas enter one listing at a time, so that the limits hold.
      await query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [lockClass, this.#connection.schema])
      const [known] = await query<Row>(`SELECT pay_to FROM ${this.#table} WHERE key = $1`, [listing.key])
      const replaced: string[] = []
      for (const { cap, column, member } of scopes) {
        // A listing that stays in its scope needs no room there.
        if (known !== undefined && (member !== 'payTo' || known['pay_to'] === listing.payTo)) continue
        const where = `${column === undefined ? '$1::text IS NOT NULL' : `${column} = $1`} AND key <> ALL ($2::text[])`
        const values = [member === undefined ? '' : listing[member], [listing.key, ...replaced]]
        const [row] = await query<Row>(`SELECT count(*) AS count FROM ${this.#table} WHERE ${where}`, values)
        if (Number(row!['count']) < caps[cap]) continue
        const [least] = await query<Row>(
          `SELECT key, settle_count, (last_settled_ms >= $3::bigint)::integer AS is_active FROM ${this.#table}
           WHERE ${where} ORDER BY is_active, settle_count, last_settled_ms LIMIT 1`,
          [...values, listing.lastSettledMs - activeMs],
        )
        if (least === undefined) return false
        if (Number(least['is_active']) === 1 && Number(least['settle_count']) > listing.settleCount) return false
        replaced.push(least['key'] as string)
      }
      await query(`DELETE FROM ${this.#table} WHERE key = ANY ($1::text[])`, [replaced])
      await query(
        `INSERT INTO ${this.#table} AS l VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (key) DO UPDATE SET resource = excluded.resource, method = excluded.method,
           origin = excluded.origin, pay_to = excluded.pay_to, content = excluded.content, facets = excluded.facets,
           words = excluded.words, last_settled_ms = greatest(l.last_settled_ms, excluded.last_settled_ms),
           confirmed_ms = excluded.confirmed_ms, settle_count = l.settle_count + excluded.settle_count`,
        valuesOf(listing),
      )
      return true
    }, transactionMs)
  }

  /** A count is not repeated if the connection is lost: the number shown is a lower bound. */
  async count(counts: readonly ListingCount[]): Promise<void> {
    await this.#connection.write(this.#count, [
      counts.map(({ key }) => key),
      counts.map(({ payTo }) => payTo),
      counts.map(({ count }) => count),
      counts.map(({ settledMs }) => settledMs),
    ])
  }

  async find(query: ListingQuery): Promise<ListingPage> {
    const { where, order, values, form } = findParts(query)
    const [limit, offset] = [values.length + 1, values.length + 2]
    const find: Statement = {
      name: `latchkey_listings_find_${form}`,
      text: `SELECT * FROM ${this.#table} WHERE ${where} ORDER BY ${order}, key COLLATE "C" LIMIT $${limit} OFFSET $${offset}`,
    }
    const total: Statement = {
      name: `latchkey_listings_total_${form}`,
      text: `SELECT count(*) AS total FROM ${this.#table} WHERE ${where}`,
    }
    const rows = await this.#connection.read<Row>(find, [...values, query.limit, query.offset])
    const [row] = await this.#connection.read<Row>(total, values)
    return { listings: rows.map(listingOf), total: Number(row!['total']) }
  }

  async delete(key: string): Promise<void> {
    await this.#connection.read(this.#delete, [key])
  }

  async forgetBefore(settledMs: number): Promise<void> {
    await this.#connection.read(this.#forget, [settledMs])
  }
}

const transactionMs = 10_000

type FindParts = {
  readonly where: string
  readonly order: string
  readonly values: readonly (string | number)[]
  /** Equal for queries with the same text. */
  readonly form: string
}

/** The conditions of a query, as many as it has: a list as one parameter would be unpacked for each row. */
function findParts({ facets, terms, sinceMs }: ListingQuery): FindParts {
  const hasFacet = facets.map((_, index) => `strpos(facets, $${2 + index}::text) > 0`)
  const hasTerm = terms.map((_, index) => `strpos(words, $${2 + facets.length + index}::text) > 0`)
  const anyTerm = terms.length === 0 ? [] : [`(${hasTerm.join(' OR ')})`]
  const score = terms.length === 0 ? [] : [`${hasTerm.map((one) => `(${one})::integer`).join(' + ')} DESC`]
  return {
    where: ['last_settled_ms >= $1::bigint', ...hasFacet, ...anyTerm].join(' AND '),
    order: [...score, 'settle_count DESC', 'last_settled_ms DESC'].join(', '),
    values: [sinceMs, ...facets.map((facet) => ` ${facet} `), ...terms],
    form: `${facets.length}_${terms.length}`,
  }
}
