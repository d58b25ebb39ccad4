/**
 * `GET /discovery/resources` and `GET /discovery/search`, in the form of the specification and in the forms of the
 * hosted Algorand facilitator and of older clients.
 */
import { Bytes, Hash } from '@latchkey/algorand'
import { Discovery } from '@latchkey/x402-wire'
import type { Listing, ListingPage, ListingQuery } from '../store/Listings.js'
import { toolMethod } from './ListingClaim.js'
import { facet, networkFacet, wellFormed } from './listingFrom.js'

const defaultLimit = 50
const maxLimit = 100
const maxOffset = 100_000
const maxQueryLength = 200
const maxTerms = 8
const maxFilterLength = 200

/** Undefined if there are too many queries now. */
type Find = (query: Omit<ListingQuery, 'sinceMs'>) => Promise<ListingPage | undefined>

export type DiscoveryResponse = { readonly status: 200 | 400 | 429; readonly body: object }

/** The response to a request for one of the two endpoints. */
export type DiscoveryEndpoint = (parameters: URLSearchParams, find: Find) => Promise<DiscoveryResponse>

/** The list of resources, with filters. */
export const listResources: DiscoveryEndpoint = async (parameters, find) => {
  const read = readParameters(parameters)
  if (typeof read === 'string') return invalid(read)
  const { facets, terms, limit } = read
  const offset = wholeNumber(parameters.get('offset'), 0, maxOffset)
  if (offset === undefined) return invalid(`offset is not a number up to ${maxOffset}`)
  const found = await find({ facets, terms, limit, offset })
  if (found === undefined) return busy
  const { listings, total } = found
  const pagination = { limit, offset, total }
  return ok({ x402Version: 2, items: listings.map(itemOf), pagination, ...olderForm(listings, pagination) })
}

/** The resources that match a text. */
export const searchResources: DiscoveryEndpoint = async (parameters, find) => {
  const read = readParameters(parameters)
  if (typeof read === 'string') return invalid(read)
  const { facets, terms, limit } = read
  if (terms.length === 0) return invalid('query is missing')
  const cursor = parameters.get('cursor')
  const offset = wholeNumber(cursor === null || cursor === '' ? null : cursor, 0, maxOffset)
  if (offset === undefined) return invalid('cursor is not one of this catalogue')
  const found = await find({ facets, terms, limit, offset })
  if (found === undefined) return busy
  const { listings, total } = found
  const next = offset + listings.length < total ? String(offset + listings.length) : null
  return ok({
    x402Version: 2,
    resources: listings.map(itemOf),
    partialResults: next !== null,
    pagination: { limit, cursor: next },
  })
}

type Read = { readonly facets: string[]; readonly terms: string[]; readonly limit: number }

/** Returns the parameters that both have, or the reason why they are invalid. Unknown ones are ignored. */
function readParameters(parameters: URLSearchParams): Read | string {
  const limit = wholeNumber(parameters.get('limit'), defaultLimit, Number.MAX_SAFE_INTEGER)
  if (limit === undefined || limit === 0) return 'limit is not a positive number'
  const facets: string[] = []
  for (const [name, term] of Object.entries(filters)) {
    const value = parameters.get(name) ?? ''
    if (value.length > maxFilterLength) return `${name} is longer than ${maxFilterLength} characters`
    if (value !== '') facets.push(term(value))
  }
  const text = parameters.get('query') || parameters.get('search') || ''
  if (text.length > maxQueryLength) return `query is longer than ${maxQueryLength} characters`
  const words = wellFormed(text)
    .toLowerCase()
    .split(/[\s\0]+/)
  const terms = [...new Set(words.filter((word) => word !== ''))].slice(0, maxTerms)
  return { facets, terms, limit: Math.min(limit, maxLimit) }
}

const filters: { readonly [parameter: string]: (value: string) => string } = {
  type: (value) => facet('type', value),
  payTo: (value) => facet('payTo', value),
  merchantId: (value) => facet('payTo', value),
  scheme: (value) => facet('scheme', value),
  network: networkFacet,
  extensions: (value) => facet('extension', value),
  method: (value) => facet('method', value.toUpperCase()),
}

function wholeNumber(text: string | null, absent: number, max: number): number | undefined {
  if (text === null) return absent
  const isNumber = /^[0-9]{1,16}$/.test(text) && Number(text) <= max
  return isNumber ? Number(text) : undefined
}

/** The members of the specification, then those of the hosted Algorand facilitator. */
function itemOf({ key, resource, method, payTo, content, ...listing }: Listing): object {
  const { accepts, extensions, ...described } = content
  const info = Discovery.infoOf(extensions)
  const isTool = method === toolMethod
  return {
    resource,
    type: isTool ? 'mcp' : 'http',
    x402Version: 2,
    accepts,
    lastUpdated: time(listing.confirmedMs),
    ...described,
    extensions,
    id: Bytes.toBase64Url(Hash.sha512_256(Bytes.fromUtf8(key))).slice(0, 22),
    resourceUrl: resource,
    ...(isTool ? {} : { method }),
    merchantId: payTo,
    ...(info === undefined ? {} : { discoveryInfo: info }),
    // Every settled payment was verified. Those that were only verified are not counted.
    verifyCount: listing.settleCount,
    settleCount: listing.settleCount,
    firstSeen: time(listing.firstSettledMs),
    lastSeen: time(listing.lastSettledMs),
  }
}

/** The form that PyPI `x402-avm` reads. */
function olderForm(listings: readonly Listing[], pagination: object): object {
  const resources = listings.map(({ resource, method, content: { description } }) => {
    const isTool = method === toolMethod
    return {
      url: resource,
      type: isTool ? 'mcp' : 'http',
      metadata: isTool ? { description } : { method, description },
    }
  })
  return { resources, ...pagination }
}

function time(ms: number): string {
  return new Date(ms).toISOString()
}

const busy: DiscoveryResponse = { status: 429, body: { error: 'too many requests; retry in a second' } }

function ok(body: object): DiscoveryResponse {
  return { status: 200, body }
}

function invalid(error: string): DiscoveryResponse {
  return { status: 400, body: { error } }
}
