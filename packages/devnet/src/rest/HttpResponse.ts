/** Responses in the formats of nodes: JSON and msgpack of the same values. */
import { isUtf8 } from 'node:buffer'
import { BoundedMap, Msgpack, Submission, type Transaction } from '@latchkey/algorand'
import type { RawResponse } from '@latchkey/http'
import * as MapKey from '../ledger/MapKey.js'

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

/** The value of a body, which is written as JSON or as msgpack. */
export type Value =
  | null
  | bigint
  | number
  | string
  | boolean
  | Uint8Array
  | SignedBytes
  | Text
  | readonly Value[]
  | ReadonlyMap<Value, Value>
  | { readonly [name: string]: Value | undefined }

/** A signed transaction in canonical form, which is embedded in msgpack unchanged. */
export class SignedBytes {
  readonly bytes: Uint8Array
  readonly #signed: Submission.Submitted | undefined

  /** @param signed the values of these bytes, if they are known */
  constructor(bytes: Uint8Array, signed?: Submission.Submitted) {
    this.bytes = bytes
    this.#signed = signed
  }

  transaction(): Transaction.Transaction {
    return (this.#signed ?? Submission.decodeFirst(this.bytes).signed).txn
  }

  toJson(): Value {
    return Submission.toJson(this.#signed ?? Submission.decodeFirst(this.bytes).signed)
  }
}

/** Text on the ledger that is not necessarily UTF-8. */
export class Text {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

type Members = [string, Value][]

/** The members that are present, sorted by name as nodes write them. */
function membersOf(value: { readonly [name: string]: Value | undefined }): Members {
  const members: Members = []
  let isSorted = true
  for (const name in value) {
    const member = value[name]
    if (member === undefined) continue
    isSorted &&= members.length === 0 || members[members.length - 1]![0] < name
    members.push([name, member])
  }
  return isSorted ? members : members.sort(([a], [b]) => (a < b ? -1 : 1))
}

export function toMsgpack(value: Value): Uint8Array {
  const writer = new Msgpack.Writer()
  writeMsgpack(value, writer)
  return writer.bytes()
}

const nil = Uint8Array.of(0xc0)

function writeMsgpack(value: Value, writer: Msgpack.Writer): void {
  if (value === null) writer.raw(nil)
  else if (typeof value === 'bigint' || typeof value === 'number') writer.uint(value)
  else if (typeof value === 'string') writer.str(value)
  else if (typeof value === 'boolean') writer.bool(value)
  else if (value instanceof Uint8Array) writer.bin(value)
  else if (value instanceof SignedBytes) writer.raw(value.bytes)
  else if (value instanceof Text) writer.strBytes(value.bytes)
  else if (Array.isArray(value)) {
    writer.arrayHeader(value.length)
    for (const element of value) writeMsgpack(element, writer)
  } else if (value instanceof Map) {
    writer.mapHeader(value.size)
    for (const [key, element] of value) {
      writeMsgpack(key, writer)
      writeMsgpack(element, writer)
    }
  } else {
    const members = membersOf(value as { [name: string]: Value })
    writer.mapHeader(members.length)
    for (const [name, member] of members) writeMsgpack(member, writer.str(name))
  }
}

/** Formats a value on one line, with a trailing newline. */
export function toJson(value: Value): string {
  return `${jsonOf(value, '', '', quoteSafely)}\n`
}

/** Indented by two spaces, as nodes write transactions and blocks. */
export function toIndentedJson(value: Value): string {
  return jsonOf(value, '\n', '  ', quote)
}

/** Clients expect integers above 2^53 as JSON numbers, which `JSON.stringify` cannot write. */
function jsonOf(value: Value, newline: string, indent: string, quote: (text: string) => string): string {
  if (value === null) return 'null'
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean') return value.toString()
  if (typeof value === 'string') return quote(value)
  if (value instanceof Uint8Array) return `"${Buffer.from(value).toString('base64')}"`
  if (value instanceof Text) return quote(decodeText(value.bytes))
  if (value instanceof SignedBytes) {
    return newline === '' ? jsonOf(value.toJson(), '', '', quote) : signedText(value).replaceAll('\n', newline)
  }
  const inner = newline + indent
  let parts = ''
  if (Array.isArray(value)) {
    for (const element of value)
      parts += `${parts === '' ? inner : `,${inner}`}${jsonOf(element, inner, indent, quote)}`
    return parts === '' ? '[]' : `[${parts}${newline}]`
  }
  const colon = newline === '' ? ':' : ': '
  for (const [name, member] of entriesOf(value as Exclude<typeof value, readonly Value[]>)) {
    const separator = parts === '' ? inner : `,${inner}`
    parts += `${separator}${quote(name)}${colon}${jsonOf(member, inner, indent, quote)}`
  }
  return parts === '' ? '{}' : `{${parts}${newline}}`
}

/**
 * The indented texts of the latest transactions, by their bytes: a payment is simulated, and then every party looks it
 * up.
 */
const signedTexts = new BoundedMap<string, string>(512)
/** Larger ones are rare and not cached. */
const maxKeptBytes = 2_048

function signedText(value: SignedBytes): string {
  if (value.bytes.length > maxKeptBytes) return jsonOf(value.toJson(), '\n', '  ', quote)
  const key = MapKey.of(value.bytes)
  let text = signedTexts.get(key)
  if (text === undefined) {
    text = jsonOf(value.toJson(), '\n', '  ', quote)
    signedTexts.set(key, text)
  }
  return text
}

function entriesOf(value: ReadonlyMap<Value, Value> | { readonly [name: string]: Value | undefined }): Members {
  if (value instanceof Map) return [...value].map(([key, element]) => [nameOf(key), element])
  return membersOf(value as { readonly [name: string]: Value | undefined })
}

/** Keys are integers, text, or bytes, which are written in base64. */
function nameOf(key: Value): string {
  if (key instanceof Text) return decodeText(key.bytes)
  return key instanceof Uint8Array ? Buffer.from(key).toString('base64') : String(key)
}

const longestCharacter = 4

/** Decodes UTF-8 with one replacement character for each invalid byte, as nodes do. */
function decodeText(bytes: Uint8Array): string {
  if (isUtf8(bytes)) return Buffer.from(bytes).toString('utf8')
  let text = ''
  for (let start = 0, end = 1; start < bytes.length; ) {
    const character = bytes.subarray(start, end)
    const isCharacter = isUtf8(character)
    const isFailed = end - start === longestCharacter || end === bytes.length
    if (!isCharacter && !isFailed) {
      end++
      continue
    }
    text += isCharacter ? Buffer.from(character).toString('utf8') : '\ufffd'
    start = isCharacter ? end : start + 1
    end = start + 1
  }
  return text
}

/** Nodes escape characters that could end a script element, but only in single-line JSON. */
function quoteSafely(text: string): string {
  if (plain.test(text)) return `"${text}"`
  return JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, escaped)
}

/** Text that both ways of quoting leave unchanged: names, addresses, amounts. */
const plain = /^[\w +/=:.,-]*$/

function quote(text: string): string {
  if (plain.test(text)) return `"${text}"`
  return JSON.stringify(text).replace(/[\u2028\u2029\ufffd]/g, escaped)
}

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
}
