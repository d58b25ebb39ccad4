/**
 * Finds paid resources in the catalogues of facilitators, in the form of the specification and in the form of the hosted
 * Algorand facilitator. Everything found is text of strangers: limited in size, without hidden characters, and a claim
 * until the seller's own 402 says the same.
 */
import { Json, Network, TimeLimit } from '@latchkey/algorand'
import { parseJson } from '@latchkey/x402-wire'
import { PartyError } from '../../errors.js'
import { type FoundResource, readResource } from './readResource.js'

/** Options of {@link discover}. */
export type DiscoverOptions = {
  /** The addresses of the facilitators whose catalogues are read. */
  facilitators: string | readonly string[]
  /**
   * The words to search for.
   *
   * @default none: the most used resources
   */
  query?: string | undefined
  /**
   * The CAIP-2 id of a network on which the resource can be paid.
   *
   * @default any
   */
  network?: string | undefined
  /**
   * The account that is paid.
   *
   * @default any
   */
  payTo?: string | undefined
  /**
   * At most 100.
   *
   * @default 20
   */
  limit?: number | undefined
  /**
   * How long all catalogues together may take.
   *
   * @default 10_000
   */
  timeoutMs?: number | undefined
  /** @default none */
  signal?: AbortSignal | undefined
  /** @default globalThis.fetch */
  fetch?: typeof fetch | undefined
}

const defaultLimit = 20
const maxLimit = 100
const defaultTimeoutMs = 10_000
const maxResponseBytes = 2 * 1024 * 1024
const maxQueryLength = 200
const maxFacilitators = 8

/**
 * Finds paid resources in the catalogues of facilitators. The result has those of the first facilitator first, without
 * repetitions.
 *
 * @throws {@link DiscoveryError} if no catalogue can be read
 * @example
 * const found = await discover({ facilitators: 'https://facilitator.example', query: 'weather' })
 */
export async function discover(options: DiscoverOptions): Promise<FoundResource[]> {
  const given = typeof options.facilitators === 'string' ? [options.facilitators] : options.facilitators
  const facilitators = given.slice(0, maxFacilitators).map(baseUrl)
  const { query = '', limit = defaultLimit, timeoutMs = defaultTimeoutMs } = options
  if (query.length > maxQueryLength) {
    throw new DiscoveryError('invalid_option', `the query is longer than ${maxQueryLength} characters`)
  }
  const count = Math.min(Math.max(Math.trunc(limit), 1), maxLimit)
  const signal = TimeLimit.signal(timeoutMs, options.signal)
  const search = { ...options, query: query.trim(), limit: count, signal, fetch: options.fetch ?? globalThis.fetch }
  const results = await Promise.allSettled(facilitators.map((facilitator) => readCatalogue(facilitator, search)))
  options.signal?.throwIfAborted()
  const found = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  const failed = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
  if (failed !== undefined && results.every(({ status }) => status === 'rejected')) throw failed.reason
  const keys = found.map(({ type, method, toolName, url }) => `${type} ${method ?? toolName} ${url}`)
  return found.filter((_, index) => keys.indexOf(keys[index]!) === index).slice(0, count)
}

type Search = DiscoverOptions & {
  readonly query: string
  readonly limit: number
  readonly signal: AbortSignal
  readonly fetch: typeof fetch
}

/** Reads one catalogue in the form that it has. */
async function readCatalogue(facilitator: string, search: Search): Promise<FoundResource[]> {
  const { query, network } = search
  const short = network === undefined ? undefined : (Network.normalize(network) ?? network)
  const known = Network.known.find(({ caip2 }) => caip2 === short)
  // The hosted facilitator knows only the older id of a network, and has no endpoint to search.
  const older = known === undefined ? short : Network.fullCaip2(known.genesisHash)
  const first = query === '' ? 'resources' : 'search'
  const body = await get(facilitator, first, { ...search, network: short })
  const found = body === undefined ? undefined : resourcesIn(body, facilitator, search)
  if (found !== undefined && (found.length > 0 || older === short || query !== '')) return found
  const list = await get(facilitator, 'resources', { ...search, network: older })
  if (list === undefined) throw unusable(facilitator, 'it has no catalogue')
  const terms = query.toLowerCase().split(/\s+/)
  return resourcesIn(list, facilitator, search).filter((one) => query === '' || hasTerm(one, terms))
}

/** For catalogues that ignore the parameter `search`. */
function hasTerm({ url, description, serviceName, tags, toolName = '' }: FoundResource, terms: string[]): boolean {
  const text = [url, description, serviceName, toolName, ...tags].join(' ').toLowerCase()
  return terms.some((term) => text.includes(term))
}

/** Undefined if the facilitator does not have the endpoint. */
async function get(
  facilitator: string,
  endpoint: 'search' | 'resources',
  { query, network, payTo, limit, signal, fetch }: Search,
): Promise<unknown> {
  const url = new URL(`${facilitator}/discovery/${endpoint}`)
  const parameters = {
    ...(query === '' ? {} : endpoint === 'search' ? { query } : { search: query, query }),
    network,
    payTo,
    limit: String(limit),
  }
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
  let response: Response
  try {
    response = await fetch(url.href, { headers: { Accept: 'application/json' }, redirect: 'error', signal })
  } catch (error) {
    throw unavailable(facilitator, 'it does not respond', error)
  }
  if ([404, 405, 501].includes(response.status)) {
    await response.body?.cancel().catch(() => {})
    return undefined
  }
  if (!response.ok) {
    await response.body?.cancel().catch(() => {})
    throw unavailable(facilitator, `it responds with status ${response.status}`)
  }
  const body = parseJson(await readText(facilitator, response))
  if (body === undefined) throw unusable(facilitator, 'its response is not JSON')
  return body
}

async function readText(facilitator: string, { body }: Response): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let [text, bytes] = ['', 0]
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      bytes += read.value.length
      if (bytes > maxResponseBytes) {
        void reader.cancel().catch(() => {})
        break
      }
      text += decoder.decode(read.value, { stream: true })
    }
  } catch (error) {
    throw unavailable(facilitator, 'its response ended early', error)
  }
  if (bytes > maxResponseBytes) throw unusable(facilitator, `its response is larger than ${maxResponseBytes} bytes`)
  return text + decoder.decode()
}

/** The resources of a response that can be read. The others are left out. */
function resourcesIn(body: unknown, facilitator: string, { network, payTo, limit }: Search): FoundResource[] {
  const { items, resources } = Json.isObject(body) ? body : {}
  const list = Array.isArray(items) ? items : resources
  if (!Array.isArray(list)) throw unusable(facilitator, 'its response has no list of resources')
  const isOffered = ({ offers }: FoundResource): boolean =>
    offers.some(
      (offer) =>
        (network === undefined || offer.network === network || Network.matches(offer.network, network)) &&
        (payTo === undefined || offer.payTo === payTo),
    )
  return list
    .slice(0, limit)
    .map((item) => readResource(item, facilitator))
    .filter((resource) => resource !== undefined)
    .filter(isOffered)
}

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new DiscoveryError('invalid_option', 'the address of a facilitator is not an http or https URL')
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

function unavailable(facilitator: string, why: string, cause?: unknown): DiscoveryError {
  const message = `the catalogue of ${facilitator} cannot be read: ${why}`
  return new DiscoveryError('facilitator_unavailable', message, { hint: 'Retry later, or use another one.', cause })
}

function unusable(facilitator: string, why: string): DiscoveryError {
  return new DiscoveryError('facilitator_protocol_error', `the catalogue of ${facilitator} cannot be read: ${why}`)
}

/** A catalogue that cannot be read. */
export class DiscoveryError extends PartyError<
  'facilitator_unavailable' | 'facilitator_protocol_error' | 'invalid_option'
> {
  override name = 'DiscoveryError'
}
