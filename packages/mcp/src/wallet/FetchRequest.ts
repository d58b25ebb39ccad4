/** The HTTP request that a model asks for, validated and bounded. */
import { createHash } from 'node:crypto'
import { passHeader, paymentSignature } from '@latchkey/x402/client'
import { checkUrl } from './GuardedFetch.js'
import { ToolError } from './ToolError.js'

/** The arguments of a tool that describe a request. */
export type RequestArguments = {
  readonly url: string
  readonly method?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: string | undefined
}

export type FetchRequest = {
  /** The URL without its fragment. */
  readonly url: string
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | undefined
  /** Identical requests have the same key. */
  readonly key: string
}

export const maxUrlLength = 2_048
export const maxRequestBodyLength = 262_144
export const maxHeaders = 32
const maxHeaderLength = 4_096

/** The headers of the connection and of payments. */
const reserved = new Set(
  [
    'host',
    'connection',
    'content-length',
    'transfer-encoding',
    'te',
    'trailer',
    'upgrade',
    'expect',
    'keep-alive',
  ].concat([paymentSignature, passHeader, 'x-payment', 'x-payment-response'].map((name) => name.toLowerCase())),
)

/** @throws ToolError */
export function readRequest({ url: text, method = 'GET', headers: given = {}, body }: RequestArguments): FetchRequest {
  if (text.length > maxUrlLength) throw new ToolError('invalid_url', `the URL has more than ${maxUrlLength} characters`)
  const url = checkUrl(text).href
  if (url.length > maxUrlLength) throw new ToolError('invalid_url', `the URL has more than ${maxUrlLength} characters`)
  const headers = Object.entries(given).map(([name, value]): [string, string] => [name.toLowerCase(), value])
  if (headers.length > maxHeaders)
    throw new ToolError('invalid_request', `the request has more than ${maxHeaders} headers`)
  for (const [name, value] of headers) checkHeader(name, value)
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    throw new ToolError('invalid_request', `a ${method} request cannot have a body: use another method`)
  }
  if ((body?.length ?? 0) > maxRequestBodyLength) throw new ToolError('invalid_request', 'the body is too long')
  headers.sort(([a], [b]) => (a < b ? -1 : 1))
  const parts = JSON.stringify([method, url, headers, body ?? null])
  return { url, method, headers, body, key: createHash('sha256').update(parts).digest('base64url') }
}

function checkHeader(name: string, value: string): void {
  const shown = JSON.stringify(name.slice(0, 60))
  if (reserved.has(name) || name.startsWith('proxy-')) {
    throw new ToolError('invalid_request', `the header ${shown} cannot be passed: this server sets it`)
  }
  const isValid = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
  if (!isValid || value.length > maxHeaderLength) {
    throw new ToolError('invalid_request', `the header ${shown} is too long or has characters that cannot be sent`)
  }
}
