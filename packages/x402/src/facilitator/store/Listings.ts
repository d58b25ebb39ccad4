/**
 * The catalogue of a facilitator: resources whose payments it settled, as their sellers describe them. A store limits
 * the number of listings, so that payments cannot fill it.
 */
import type { PaymentRequirements } from '@latchkey/x402-wire'

/** The seller's description of a resource, from the seller's own 402. */
export type ListingContent = {
  readonly accepts: readonly PaymentRequirements[]
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly serviceName?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly iconUrl?: string | undefined
  readonly extensions: { readonly [key: string]: unknown }
}

/** A resource in the catalogue. */
export type Listing = {
  /** The method and the address without its query, which together identify the resource. */
  readonly key: string
  /** The address without its query, with `:name` for parameters of the path. */
  readonly resource: string
  readonly method: string
  readonly origin: string
  /** The receiver of a settled payment whom the seller's 402 names. */
  readonly payTo: string
  readonly content: ListingContent
  /** Terms by which the listing is filtered, such as `type:http`. */
  readonly facets: readonly string[]
  /** The text that is searched, in lower case. */
  readonly words: string
  readonly firstSettledMs: number
  readonly lastSettledMs: number
  /** When the seller's 402 was read last. */
  readonly confirmedMs: number
  readonly settleCount: number
}

/** The limits of a catalogue. */
export type ListingCaps = {
  readonly perPayTo: number
  readonly perOrigin: number
  readonly total: number
}

/** The listings to return. */
export type ListingQuery = {
  /** All of them must apply. */
  readonly facets: readonly string[]
  /** At least one of them must occur. Listings with more of them come first. */
  readonly terms: readonly string[]
  /** Listings without a settlement since this time are left out. */
  readonly sinceMs: number
  readonly limit: number
  readonly offset: number
}

/** One page of listings. */
export type ListingPage = {
  /** Those with the most settlements first. */
  readonly listings: readonly Listing[]
  /** The number of listings on all pages. */
  readonly total: number
}

/** Settlements of a listed resource that are not counted yet. */
export type ListingCount = {
  readonly key: string
  /** Counts only if the listing has the same one. */
  readonly payTo: string
  readonly count: number
  readonly settledMs: number
}

/** A store of listings, shared by all replicas of a facilitator. Methods throw if an operation fails. */
export type ListingStore = {
  readonly get: (key: string) => Promise<Listing | undefined> | Listing | undefined
  /**
   * Enters a listing, or replaces the one with its key, whose settlements are added. If a limit is reached, a listing
   * without a settlement in the last day makes room, otherwise the one with the fewest settlements, in both cases the
   * least recently settled one first.
   *
   * @returns false if there is no room, because every other listing was settled in the last day and has more settlements
   */
  readonly put: (listing: Listing, caps: ListingCaps) => Promise<boolean> | boolean
  readonly count: (counts: readonly ListingCount[]) => Promise<void> | void
  readonly find: (query: ListingQuery) => Promise<ListingPage> | ListingPage
  readonly delete: (key: string) => Promise<void> | void
  /** Deletes listings without a settlement since a time. */
  readonly forgetBefore: (settledMs: number) => Promise<void> | void
}

/** A listing that was settled within this time before a new one makes room only if it does not have more settlements. */
export const activeMs = 24 * 60 * 60 * 1000

/** The scopes of the limits: a listing counts for all three. */
export const scopes = [
  { cap: 'perPayTo', column: 'pay_to', member: 'payTo' },
  { cap: 'perOrigin', column: 'origin', member: 'origin' },
  { cap: 'total', column: undefined, member: undefined },
] as const

/** Listings in memory, which are lost with the process. */
export class MemoryListings implements ListingStore {
  readonly #listings = new Map<string, Listing>()

  get(key: string): Listing | undefined {
    return this.#listings.get(key)
  }

  put(listing: Listing, caps: ListingCaps): boolean {
    const known = this.#listings.get(listing.key)
    const samePlace = known?.payTo === listing.payTo
    const replaced = new Set<string>()
    for (const { cap, member } of scopes) {
      // A listing that stays in its scope needs no room there.
      if (known !== undefined && (member !== 'payTo' || samePlace)) continue
      const others = [...this.#listings.values()].filter(
        (one) =>
          one.key !== listing.key &&
          !replaced.has(one.key) &&
          (member === undefined || one[member] === listing[member]),
      )
      if (others.length < caps[cap]) continue
      const activeFromMs = listing.lastSettledMs - activeMs
      const isActive = (one: Listing): boolean => one.lastSettledMs >= activeFromMs
      const inactive = others.filter((one) => !isActive(one))
      const [least] = (inactive.length > 0 ? inactive : others).sort(byUse)
      if (least === undefined || (isActive(least) && least.settleCount > listing.settleCount)) return false
      replaced.add(least.key)
    }
    for (const key of replaced) this.#listings.delete(key)
    this.#listings.set(listing.key, known === undefined ? listing : merged(known, listing))
    return true
  }

  count(counts: readonly ListingCount[]): void {
    for (const { key, payTo, count, settledMs } of counts) {
      const listing = this.#listings.get(key)
      if (listing?.payTo !== payTo) continue
      const lastSettledMs = Math.max(listing.lastSettledMs, settledMs)
      this.#listings.set(key, { ...listing, settleCount: listing.settleCount + count, lastSettledMs })
    }
  }

  find(query: ListingQuery): ListingPage {
    const { page, total } = ranked(this.#listings.values(), query)
    return { listings: page, total }
  }

  delete(key: string): void {
    this.#listings.delete(key)
  }

  forgetBefore(settledMs: number): void {
    for (const [key, { lastSettledMs }] of this.#listings) if (lastSettledMs < settledMs) this.#listings.delete(key)
  }
}

/** The members of a listing that a query reads. */
export type SearchedListing = Pick<Listing, 'key' | 'facets' | 'words' | 'settleCount' | 'lastSettledMs'>

/** One page of the listings that match a query, and the number of all of them. */
export function ranked<T extends SearchedListing>(
  listings: Iterable<T>,
  { facets, terms, sinceMs, limit, offset }: ListingQuery,
): { readonly page: readonly T[]; readonly total: number } {
  const found: { readonly listing: T; readonly score: number }[] = []
  for (const listing of listings) {
    if (listing.lastSettledMs < sinceMs || !facets.every((facet) => listing.facets.includes(facet))) continue
    const score = terms.filter((term) => listing.words.includes(term)).length
    if (score > 0 || terms.length === 0) found.push({ listing, score })
  }
  found.sort((a, b) => b.score - a.score || byRank(a.listing, b.listing))
  return { page: found.slice(offset, offset + limit).map(({ listing }) => listing), total: found.length }
}

function merged(known: Listing, listing: Listing): Listing {
  return {
    ...listing,
    firstSettledMs: known.firstSettledMs,
    lastSettledMs: Math.max(known.lastSettledMs, listing.lastSettledMs),
    settleCount: known.settleCount + listing.settleCount,
  }
}

function byUse(a: Listing, b: Listing): number {
  return a.settleCount - b.settleCount || a.lastSettledMs - b.lastSettledMs
}

function byRank(a: SearchedListing, b: SearchedListing): number {
  return b.settleCount - a.settleCount || b.lastSettledMs - a.lastSettledMs || (a.key < b.key ? -1 : 1)
}
