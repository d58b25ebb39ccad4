/** The request that a payment is for, and its identity. */
import { Bytes, Hash } from '@latchkey/algorand'

/** The request that a payment is for. */
export type PaidRequest = {
  readonly method: string
  readonly url: string
  readonly headers?: Iterable<readonly [string, string]> | undefined
  readonly body?: Uint8Array | undefined
}

/** Headers that differ between attempts and do not change the answer. */
const volatile = new Set([
  'accept-encoding',
  'baggage',
  'connection',
  'content-length',
  'date',
  'sentry-trace',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-amzn-trace-id',
  'x-correlation-id',
  'x-request-id',
])

/**
 * Identifies a request by payer, method, URL, headers and body. The answer to a payment belongs to one request: with
 * other credentials or another range, it could be another person's answer, or another part of it.
 */
export function idOf(request: PaidRequest, payer: string): string {
  const ids = idsOfFixed.get(request)
  const known = ids?.get(payer)
  if (known !== undefined) return known
  const id = newIdOf(request, payer)
  ids?.set(payer, id)
  return id
}

/** The ids of fixed requests, by payer. Several steps of a payment need the id. */
const idsOfFixed = new WeakMap<PaidRequest, Map<string, string>>()

/** Marks a request as final, including its headers and body. */
export function fixed(request: PaidRequest): PaidRequest {
  idsOfFixed.set(request, new Map())
  return request
}

function newIdOf({ method, url, headers = [], body }: PaidRequest, payer: string): string {
  const target = new URL(url)
  target.hash = ''
  const given = [...headers].map(([name, value]): [string, string] => [name.toLowerCase(), value])
  const boundary = boundaryOf(given)
  const lines = given
    .map(([name, value]) => [name, name === 'content-type' ? value.replace(boundary ?? '', '') : value])
    .filter(([name]) => !volatile.has(name!))
    .sort(([a], [b]) => (a! < b! ? -1 : a! > b! ? 1 : 0))
  const digest = body === undefined ? '' : Bytes.toBase64Url(Hash.sha256(withoutBoundary(body, boundary)))
  const parts = JSON.stringify([payer, method.toUpperCase(), target.href, lines, digest])
  return Bytes.toBase64Url(Hash.sha256(Bytes.fromUtf8(parts)))
}

/** Each submission of a form has a new boundary between its parts. A short boundary was chosen by the caller. */
function boundaryOf(headers: readonly (readonly [string, string])[]): string | undefined {
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? ''
  return /^multipart\/form-data;.*boundary="?([^";]{16,})/i.exec(type)?.[1]
}

function withoutBoundary(body: Uint8Array, boundary: string | undefined): Uint8Array {
  if (boundary === undefined) return body
  // This encoding maps each byte to a different character.
  return Bytes.fromUtf8(new TextDecoder('windows-1252').decode(body).replaceAll(`--${boundary}`, '--'))
}
