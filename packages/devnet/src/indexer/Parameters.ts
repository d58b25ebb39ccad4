/** Request parameters, with the error messages of an indexer. */
import { Address } from '@latchkey/algorand'
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from '../rest/ApiError.js'
import type { Query } from '../rest/Route.js'

/** Indexer databases use signed integers. */
export const maxInt64 = 2n ** 63n - 1n

export const tooLarge = `searching by round or application-id or asset-id or filter by value greater than ${maxInt64} is not supported`

export function checkInt64(...values: (bigint | undefined)[]): void {
  if (values.some((value) => value !== undefined && value > maxInt64)) throw new ApiError(404, tooLarge)
}

export type Limits = { readonly default: bigint; readonly max: bigint }

/** Capped at the maximum. Zero requests as many as possible. */
export function limit(query: Query, limits: Limits): number {
  const asked = query.uint('limit') ?? limits.default
  return Number(asked === 0n || asked > limits.max ? limits.max : asked)
}

/** Returns the address, or the reason why it is invalid. */
export function parseAddress(text: string): MapKey.MapKey | { readonly reason: string } {
  try {
    return MapKey.fromAddress(text)
  } catch (error) {
    if (!(error instanceof Address.AddressError)) throw error
    return { reason: addressReason(text) }
  }
}

const addressLetters = 58

function addressReason(text: string): string {
  const position = invalidBase32At(text)
  if (position !== undefined) return `illegal base32 data at input byte ${position}`
  if (text.length !== addressLetters) return 'decoded address is the wrong length, should be 36 bytes'
  return 'address checksum is incorrect, did you copy the address correctly?'
}

/** Returns the position of the first letter that is not base32. Accepts any length, like an indexer's decoder. */
export function invalidBase32At(text: string): number | undefined {
  const position = text.search(/[^A-Z2-7]/)
  return position < 0 ? undefined : position
}

/** @throws ApiError with `prefix` before the reason. */
export function address(text: string, prefix = 'unable to parse address: '): MapKey.MapKey {
  const parsed = parseAddress(text)
  if (typeof parsed === 'string') return parsed
  throw new ApiError(400, `${prefix}${parsed.reason}`)
}

/** Bytes in standard base64, with padding. */
export function base64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined
}

const timePattern = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}([.,]\d+)?(Z|[+-]\d{2}:\d{2}))?$/

/** Parses an RFC 3339 time or a date, in milliseconds since 1970. An empty value counts as absent. */
export function time(query: Query, name: string): number | undefined {
  const text = query.get(name)
  if (text === undefined || text === '') return undefined
  const ms = timePattern.test(text) && hasDay(text) ? Date.parse(text.replace(',', '.')) : Number.NaN
  if (!Number.isNaN(ms)) return ms
  const reason = `error parsing '${text}' as RFC3339 or 2006-01-02 time: ${timeReason(text)}`
  throw new ApiError(400, `Invalid format for parameter ${name}: ${reason}`)
}

/** JavaScript reads February 30 as March 1. */
function hasDay(text: string): boolean {
  const day = text.slice(0, 10)
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}

function timeReason(text: string): string {
  const quoted = JSON.stringify(text)
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) {
    return `parsing time ${quoted} as "2006-01-02": cannot parse ${quoted} as "2006"`
  }
  const month = Number(text.slice(5, 7))
  if (month < 1 || month > 12) return `parsing time ${quoted}: month out of range`
  if (text.length > 10) return `parsing time ${quoted}: extra text: ${JSON.stringify(text.slice(10))}`
  return `parsing time ${quoted}: day out of range`
}

/** Returns the members of a comma-separated list. */
export function list(query: Query, name: string): readonly string[] | undefined {
  return query.get(name)?.split(',')
}
