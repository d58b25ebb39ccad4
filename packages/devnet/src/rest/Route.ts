/**
 * Routes, the router that finds them by path, and the parameters of their path and query, which are parsed as strictly
 * as on nodes and with their error messages.
 */
import { Address, Hash } from '@latchkey/algorand'
import type { RawAnswer, RawRequest } from '@latchkey/http'
import type { DevnetNode } from '../DevnetNode.js'
import * as Consensus from '../ledger/Consensus.js'
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from './ApiError.js'
import type { Format } from './HttpResponse.js'

export type RouteContext = {
  readonly request: RawRequest
  readonly node: DevnetNode
  /** The values of the path's parameters, in order. */
  readonly path: readonly string[]
  readonly query: Query
}

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Parameters are written in braces. */
  readonly path: string
  /** Used in the description of the API. Routes without a summary are not part of it. */
  readonly summary?: string
  /** The names of the parameters in the query. */
  readonly query?: readonly string[]
  /** `open` requires no token; `cheat` is served only to programs on this machine. */
  readonly access?: 'open' | 'cheat'
  readonly handle: (call: RouteContext) => RawAnswer | Promise<RawAnswer>
}

type AnyRoute = Pick<Route, 'method' | 'path'>
type Entry<R> = {
  readonly pattern: string
  readonly segments: readonly (string | undefined)[]
  readonly routes: Map<string, R>
}

/** The routes of a path, by method: a path without a route for the method gets 405, an unknown path 404. */
export type Match<R extends AnyRoute = Route> = {
  readonly routes: ReadonlyMap<string, R>
  readonly path: readonly string[]
  /** The path with its parameters in braces. */
  readonly pattern: string
}

export class Router<R extends AnyRoute = Route> {
  readonly #byLength = new Map<number, Entry<R>[]>()

  constructor(routes: readonly R[]) {
    for (const route of routes) this.#add(route)
  }

  match(path: string): Match<R> | undefined {
    const segments = path.split('/')
    for (const entry of this.#byLength.get(segments.length) ?? []) {
      const path = parametersOf(entry.segments, segments)
      if (path !== undefined) return { routes: entry.routes, path, pattern: entry.pattern }
    }
    return undefined
  }

  #add(route: R): void {
    const segments = route.path.split('/').map((segment) => (segment.startsWith('{') ? undefined : segment))
    const entries = this.#byLength.get(segments.length) ?? []
    this.#byLength.set(segments.length, entries)
    const same = entries.find((entry) => entry.segments.every((segment, index) => segment === segments[index]))
    if (same !== undefined) same.routes.set(route.method, route)
    else entries.push({ pattern: route.path, segments, routes: new Map([[route.method, route]]) })
    // A literal segment takes precedence over a parameter.
    entries.sort((a, b) => parameters(a) - parameters(b))
  }
}

/** Returns the values of the parameters, or undefined if another segment differs. */
function parametersOf(pattern: Entry<unknown>['segments'], segments: readonly string[]): string[] | undefined {
  const path: string[] = []
  for (let index = 0; index < pattern.length; index++) {
    const segment = segments[index]!
    if (pattern[index] === undefined) path.push(segment)
    else if (pattern[index] !== segment) return undefined
  }
  return path
}

function parameters({ segments }: Pick<Entry<unknown>, 'segments'>): number {
  return segments.filter((segment) => segment === undefined).length
}

/** The default number of elements in a page of a list. */
const defaultLimit = 1_000n

export class Query {
  readonly #values: URLSearchParams | undefined

  constructor(text: string) {
    this.#values = text === '' ? undefined : new URLSearchParams(text)
  }

  get(name: string): string | undefined {
    if (this.#values === undefined) return undefined
    const values = this.#values.getAll(name)
    if (values.length > 1) {
      const cause = `multiple values for single value parameter '${name}'`
      throw new ApiError(400, `Invalid format for parameter ${name}: ${cause}`)
    }
    return values[0]
  }

  format(): Format {
    const format = this.get('format')?.toLowerCase() ?? 'json'
    if (format === 'json') return 'json'
    if (format === 'msgpack' || format === 'msgp') return 'msgpack'
    throw new ApiError(400, 'failed to parse the format option')
  }

  uint(name: string): bigint | undefined {
    const text = this.get(name)
    return text === undefined ? undefined : parseUint(text, bindingPrefix(name))
  }

  /** The paging parameters of a list. `after` is below the first id if there is none. */
  page(max: bigint, of: string): { limit: bigint; after: bigint } {
    const limit = this.uint('limit')
    const next = this.get('next')
    const after = next === undefined ? -1n : parseUint(next, 'unable to parse next token: ')
    if (limit === 0n) throw new ApiError(400, 'limit parameter must be a positive integer')
    if (limit !== undefined && limit > max) {
      throw new ApiError(400, `limit ${limit} exceeds max ${of} single batch limit ${max}`)
    }
    return { limit: limit ?? defaultLimit, after }
  }

  flag(name: string): boolean {
    const text = this.get(name)
    if (text === undefined) return false
    if (/^(1|[tT]|true|TRUE|True)$/.test(text)) return true
    if (/^(0|[fF]|false|FALSE|False)$/.test(text)) return false
    const cause = `error binding string parameter: strconv.ParseBool: parsing ${quoted(text)}: invalid syntax`
    throw new ApiError(400, `Invalid format for parameter ${name}: ${cause}`)
  }
}

/** Whether the list in the parameter `include` has a word. */
export function includes(query: Query, word: string): boolean {
  return (query.get('include') ?? '').split(',').includes(word)
}

/** An integer in the path. */
export function uint(name: string, text: string): bigint {
  if (text === '') {
    throw new ApiError(400, `Invalid format for parameter ${name}: parameter '${name}' is empty, can't bind its value`)
  }
  return parseUint(text, bindingPrefix(name))
}

function bindingPrefix(name: string): string {
  return `Invalid format for parameter ${name}: error binding string parameter: `
}

/** @param prefix precedes the reason in the error message. */
export function parseUint(text: string, prefix: string): bigint {
  const problem = problemOfUint(text)
  if (problem !== undefined) throw new ApiError(400, prefix + problem)
  return BigInt(text)
}

/** Returns why nodes reject a text as a 64-bit integer, or undefined. */
export function problemOfUint(text: string): string | undefined {
  const problem = (reason: string) => `strconv.ParseUint: parsing ${quoted(text)}: ${reason}`
  if (!/^[0-9]+$/.test(text)) return problem('invalid syntax')
  const digits = text.replace(/^0+(?=[0-9])/, '')
  const isInRange = digits.length <= 20 && BigInt(digits) <= Consensus.maxUint64
  return isInRange ? undefined : problem('value out of range')
}

/** Quotes a text like Go: control characters have two digits. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/\\u00([01][0-9a-f])/g, '\\x$1')
}

export function address(text: string): MapKey.MapKey {
  try {
    return MapKey.fromAddress(text)
  } catch (error) {
    if (!(error instanceof Address.AddressError)) throw error
    const cause = `error unmarshaling '${text}' text as *basics.Address: ${problemOfAddress(text)}`
    throw new ApiError(400, `Invalid format for parameter address: ${cause}`)
  }
}

/** Returns a node's reason to reject an invalid address. */
function problemOfAddress(text: string): string {
  const letters = text.replace(/[\r\n]/g, '')
  if (!/^[A-Z2-7]*$/.test(letters)) return `failed to decode address ${text} from base 32`
  // The last letter carries three bits of the checksum, and two that must be zero.
  const spellings = ['A', 'E', 'I', 'M', 'Q', 'U', 'Y', '4'].map((last) => letters.slice(0, -1) + last)
  const isSpelledOtherwise = letters.length === 58 && spellings.some((spelling) => Address.isValid(spelling))
  return `address ${text} is ${isSpelledOtherwise ? 'non-canonical' : 'malformed, checksum verification failed'}`
}

export function transactionId(text: string): MapKey.MapKey {
  const id = digest(text)
  if (id === undefined) throw new ApiError(400, 'no valid transaction ID was specified')
  return id
}

/** 32 bytes in 52 letters. The last letter carries one bit; nodes ignore its other four, and line breaks. */
export function digest(text: string): MapKey.MapKey | undefined {
  const exact = Hash.fromText(text)
  if (exact !== undefined) return MapKey.of(exact)
  const letters = text.replace(/[\r\n]/g, '')
  const bytes = Hash.fromText(letters.replace(/[A-Z2-7]$/, (last) => (/[A-P]/.test(last) ? 'A' : 'Q')))
  return bytes && MapKey.of(bytes)
}

/**
 * Decodes a part of a path.
 *
 * @throws ApiError 400 if the percent-encoding is invalid.
 */
export function decodeParameter(parameter: string): string {
  if (!parameter.includes('%')) return parameter
  try {
    return decodeURIComponent(parameter)
  } catch {
    throw new ApiError(400, 'Bad Request')
  }
}
