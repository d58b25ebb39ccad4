/** Answers, in the forms nodes give them. */
import type { RawResponse } from '@latchkey/http'
import { toIndentedJson, toJson, toMsgpack, type Value } from './Value.js'

export type Format = 'json' | 'msgpack'

const jsonHeaders = ['Content-Type', 'application/json']
const msgpackHeaders = ['Content-Type', 'application/msgpack']

export function json(value: Value, status = 200): RawResponse {
  return { status, headers: jsonHeaders, body: toJson(value) }
}

/** What has to do with transactions and blocks comes in either form. */
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

/** The JSON text that is there already. */
export function jsonText(body: string): RawResponse {
  return { status: 200, headers: jsonHeaders, body }
}

export function empty(): RawResponse {
  return { status: 200, headers: [], body: '' }
}

/** Anything that is not served. `data` is for people and tools; clients match on the message. */
export class ApiError extends Error {
  override name = 'Refused'
  readonly status: number
  readonly hint: string | undefined

  constructor(status: number, message: string, hint?: string) {
    super(message)
    this.status = status
    this.hint = hint
  }

  toResponse(): RawResponse {
    const data = this.hint === undefined ? undefined : { hint: this.hint }
    return json({ data, message: this.message }, this.status)
  }
}
