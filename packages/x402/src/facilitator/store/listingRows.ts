/** Listings as rows of a table. */
import type { Listing, ListingContent, SearchedListing } from './Listings.js'

/** Integers of 64 bits are text in PostgreSQL and numbers in SQLite. */
export type ListingRow = { readonly [column: string]: string | number | null }

/** The values of the columns, in the order of the table. */
export function valuesOf(listing: Listing): (string | number)[] {
  return [
    listing.key,
    listing.resource,
    listing.method,
    listing.origin,
    listing.payTo,
    ` ${listing.facets.join(' ')} `,
    listing.words,
    listing.firstSettledMs,
    listing.lastSettledMs,
    listing.confirmedMs,
    listing.settleCount,
    JSON.stringify(listing.content),
  ]
}

export function listingOf(row: ListingRow): Listing {
  const text = (column: string): string => row[column] as string
  return {
    key: text('key'),
    resource: text('resource'),
    method: text('method'),
    origin: text('origin'),
    payTo: text('pay_to'),
    content: JSON.parse(text('content')) as ListingContent,
    facets: text('facets').trim().split(' '),
    words: text('words'),
    firstSettledMs: Number(row['first_settled_ms']),
    lastSettledMs: Number(row['last_settled_ms']),
    confirmedMs: Number(row['confirmed_ms']),
    settleCount: Number(row['settle_count']),
  }
}

/** The members that a search reads. */
export function searchedOf(row: ListingRow): SearchedListing {
  return {
    key: row['key'] as string,
    facets: (row['facets'] as string).trim().split(' '),
    words: row['words'] as string,
    settleCount: Number(row['settle_count']),
    lastSettledMs: Number(row['last_settled_ms']),
  }
}
