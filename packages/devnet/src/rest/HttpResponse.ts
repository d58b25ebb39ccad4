/** Responses, in the formats of nodes. */
import type { RawResponse } from '@latchkey/http'
import { toIndentedJson, toJson, toMsgpack, type Value } from './ResponseValue.js'

export type Format = 'json' | 'msgpack'

const jsonHeaders = ['Content-Type', 'application/json']
const msgpackHeaders = ['Content-Type', 'application/msgpack']

export function json(value: Value, status = 200): RawResponse {
  return { status, headers: jsonHeaders, body: toJson(value) }
}

/** Transactions and blocks are served in both formats. */
export function inFormat(value: Value, format: Format, headers: readonly string[] = []): RawResponse {
  if (format === 'json') return { status: 200, headers: jsonHeaders, body: toIndentedJson(value) }
  return { status: 200, headers: [...msgpackHeaders, ...headers], body: toMsgpack(value) }
}

export function bytes(body: Uint8Array, headers: readonly string[] = []): RawResponse {
  return { status: 200, headers: [...msgpackHeaders, ...headers], body }
}

export function text(body: string, status = 200, type = 'text/plain'): RawResponse {
  return { status, headers: ['Content-Type', type], body }
}

/** A body that is already JSON text. */
export function jsonText(body: string): RawResponse {
  return { status: 200, headers: jsonHeaders, body }
}

/** A value as the indented text of {@link jsonText}. */
export function indentedText(value: Value): string {
  return `${toIndentedJson(value)}\n`
}

export function empty(): RawResponse {
  return { status: 200, headers: [], body: '' }
}
