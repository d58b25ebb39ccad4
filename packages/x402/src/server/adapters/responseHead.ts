/** Sets the status and headers of a response object of `node:http` or `node:http2`. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type HeaderList, mergeHeader, sharedCacheHeaders } from '../gate/responses.js'

/** Applies the arguments of `writeHead` after the status: a message, headers in one of three forms, or both. */
export function setHead(response: ServerResponse, rest: readonly unknown[]): void {
  const [message] = rest
  if (typeof message === 'string') setMessage(response, message)
  const given = rest.find((one) => typeof one === 'object' && one !== null)
  if (given === undefined) return
  if (!Array.isArray(given)) {
    for (const [name, value] of Object.entries(given as OutgoingHttpHeaders)) {
      if (value !== undefined) response.setHeader(name, value)
    }
    return
  }
  const isNested = Array.isArray(given[0])
  const pairs = isNested ? (given as [string, string][]) : pairsOf(given as string[])
  for (const name of new Set(pairs.map(([one]) => one))) response.removeHeader(name)
  for (const [name, value] of pairs) response.appendHeader(name, value)
}

/** HTTP/2 has no status text, and Node warns if one is set. */
export function setMessage(response: ServerResponse, message: string): void {
  if (!('stream' in response)) response.statusMessage = message
}

/** Sets exactly these headers and removes all others. */
export function setHeaders(
  response: ServerResponse,
  headers: readonly (readonly [string, number | string | readonly string[]])[],
): void {
  const { sendDate } = response
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  for (const name of response.getHeaderNames()) if (!names.has(name.toLowerCase())) response.removeHeader(name)
  for (const [name, value] of headers) response.setHeader(name, value)
  // Node takes the removal of a Date header as a request to send none.
  response.sendDate = sendDate
}

/** The current headers of a response. */
export function headersOf(response: ServerResponse): [string, string][] {
  return Object.entries(response.getHeaders()).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
  )
}

/** Adds the headers of the gate to those of the response. */
export function addHeaders(response: ServerResponse, headers: HeaderList): void {
  for (const [name, value] of [...sharedCacheHeaders(response.getHeaderNames(), headers), ...headers]) {
    const before = response.getHeader(name)
    if (name.toLowerCase() === 'set-cookie') {
      response.setHeader(name, [...new Set([...[before ?? []].flat().map(String), value])])
      continue
    }
    // `no-store` of the gate replaces any other value.
    const isMerged = value !== 'no-store' && before !== undefined
    response.setHeader(name, isMerged ? mergeHeader(name, String(before), value) : value)
  }
}

function pairsOf(list: readonly string[]): [string, string][] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1]!] as [string, string]] : []))
}
