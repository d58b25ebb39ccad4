/**
 * Reads a request body into the fields of one operation, as the Go daemon does: one pass over the bytes, every
 * member checked against the operation's own fields. What is not a field is rejected, so nesting and size of the
 * result are bounded by the fields, whatever is sent.
 *
 * The tolerances are the reference's, not ours: positional arrays, numbers for texts, quoted small integers, raw
 * control characters, and anything after the first value. Bytes come as base64 or as an array of integers.
 *
 * It works on bytes and not on a JavaScript string so that a password exists once, in a buffer that can be wiped.
 */
import * as Base64 from './Base64.js'
import {
  type Cursor,
  closeBrace,
  closeBracket,
  colon,
  comma,
  equalsAscii,
  literal,
  openBrace,
  openBracket,
  peek,
  quote,
  readNumberLetters,
  readString,
  refuse,
} from './JsonLexer.js'
import type { Wire } from './Wire.js'

/**
 * What a member may hold. `text` is bytes (names and passwords need not be UTF-8); `ascii` is for identifiers; `name`
 * and `privateKey` are a text and bytes that the reference wire reads in a way of its own.
 */
export type Kind =
  | { type: 'text' }
  | { type: 'name' }
  | { type: 'ascii' }
  | { type: 'bool' }
  | { type: 'uint' }
  | { type: 'uint8' }
  | { type: 'bytes' }
  | { type: 'fixed'; length: number }
  | { type: 'privateKey' }
  | { type: 'list'; of: Kind }
  | { type: 'object'; fields: readonly Field[] }

/**
 * A member. Some are called otherwise in the reference than in its documentation: both are then fields, each marked
 * with the wire it belongs to, and read on either. Positions count the reference's only.
 */
export type Field = { name: string; kind: Kind; about: string; wire?: Wire }

/** The JavaScript value of a member; one that was not sent has the zero of its kind. */
export type ValueOf<K extends Kind> = K extends { type: 'text' | 'name' | 'bytes' | 'fixed' | 'privateKey' }
  ? Buffer
  : K extends { type: 'ascii' }
    ? string
    : K extends { type: 'bool' }
      ? boolean
      : K extends { type: 'uint' | 'uint8' }
        ? number
        : K extends { type: 'list'; of: infer E extends Kind }
          ? ValueOf<E>[]
          : K extends { type: 'object'; fields: infer F extends readonly Field[] }
            ? FieldsOf<F>
            : never

export type FieldsOf<F extends readonly Field[]> = { [E in F[number] as E['name']]: ValueOf<E['kind']> }

type Value = Buffer | string | boolean | number | Value[] | Fields
type Fields = { [name: string]: Value }

/** Nothing in the API nests deeper than five; a value that does cannot fit any field and is rejected as it is read. */
export const maxDepth = 32

export function read<const F extends readonly Field[]>(body: Buffer, fields: F, wire: Wire): FieldsOf<F> {
  const cursor: Cursor = { bytes: body, at: 0, depth: 0, wire }
  return readObject(cursor, fields) as FieldsOf<F>
}

const nothing = Buffer.alloc(0)

function zero(kind: Kind): Value {
  switch (kind.type) {
    case 'text':
    case 'name':
    case 'bytes':
    case 'fixed':
    case 'privateKey':
      return nothing
    case 'ascii':
      return ''
    case 'bool':
      return false
    case 'uint':
    case 'uint8':
      return 0
    case 'list':
      return []
    case 'object':
      return zeros(kind.fields)
  }
}

function zeros(fields: readonly Field[]): Fields {
  const result: Fields = {}
  for (const field of fields) result[field.name] = zero(field.kind)
  return result
}

function readObject(cursor: Cursor, fields: readonly Field[]): Fields {
  const result = zeros(fields)
  const first = peek(cursor)
  if (first === 0x6e) {
    literal(cursor, 'null')
    return result
  }
  if (++cursor.depth > maxDepth) refuse()
  if (first === openBrace) readMembers(cursor, fields, result)
  else if (first === openBracket) readPositions(cursor, fields, result)
  else refuse()
  cursor.depth--
  return result
}

function readMembers(cursor: Cursor, fields: readonly Field[], result: Fields): void {
  cursor.at++
  if (peek(cursor) === closeBrace) {
    cursor.at++
    return
  }
  for (;;) {
    if (peek(cursor) !== quote) refuse()
    const field = findField(cursor, fields)
    if (peek(cursor) !== colon) refuse()
    cursor.at++
    result[field.name] = readValue(cursor, field.kind)
    const next = peek(cursor)
    cursor.at++
    if (next === closeBrace) return
    if (next !== comma) refuse()
  }
}

function readPositions(cursor: Cursor, fields: readonly Field[], result: Fields): void {
  const positions = fields.filter((field) => field.wire !== 'documented')
  readElements(cursor, (index) => {
    const field = positions[index] ?? refuse()
    result[field.name] = readValue(cursor, field.kind)
  })
}

function readElements(cursor: Cursor, readElement: (index: number) => void): void {
  cursor.at++
  if (peek(cursor) === closeBracket) {
    cursor.at++
    return
  }
  for (let index = 0; ; index++) {
    readElement(index)
    const next = peek(cursor)
    cursor.at++
    if (next === closeBracket) return
    if (next !== comma) refuse()
  }
}

function findField(cursor: Cursor, fields: readonly Field[]): Field {
  const name = readString(cursor)
  for (const field of fields) {
    if (equalsAscii(name, field.name)) return field
  }
  return refuse()
}

function readValue(cursor: Cursor, kind: Kind): Value {
  switch (kind.type) {
    case 'text':
      return readText(cursor)
    case 'name':
      return readText(cursor, cursor.wire === 'reference')
    case 'ascii':
      return readText(cursor).toString('latin1')
    case 'bool':
      return readBool(cursor)
    case 'uint':
      return readUint(cursor)
    case 'uint8':
      return readUint8(cursor)
    case 'bytes':
      return readBytes(cursor, Number.POSITIVE_INFINITY, false)
    case 'fixed':
      return readBytes(cursor, kind.length, true)
    case 'privateKey':
      return readPrivateKey(cursor)
    case 'list':
      return readList(cursor, kind.of)
    case 'object':
      return readObject(cursor, kind.fields)
  }
}

function readList(cursor: Cursor, of: Kind): Value[] {
  const list: Value[] = []
  const first = peek(cursor)
  if (first === 0x6e) {
    literal(cursor, 'null')
    return list
  }
  if (first === openBrace) {
    readEmptyObject(cursor)
    return list
  }
  if (first !== openBracket || ++cursor.depth > maxDepth) refuse()
  readElements(cursor, () => {
    list.push(readValue(cursor, of))
  })
  cursor.depth--
  return list
}

/** The reference takes `{}` for an empty list and for an array of zeros. */
function readEmptyObject(cursor: Cursor): void {
  cursor.at++
  if (peek(cursor) !== closeBrace) refuse()
  cursor.at++
}

/** A text member also takes a bare number or boolean, by its letters, and null for the empty text. */
function readText(cursor: Cursor, foldPairs = false): Buffer {
  const first = peek(cursor)
  if (first === quote) return readString(cursor, foldPairs)
  if (first === 0x6e) {
    literal(cursor, 'null')
    return nothing
  }
  if (first === 0x74) return literal(cursor, 'true')
  if (first === 0x66) return literal(cursor, 'false')
  return readNumberLetters(cursor)
}

function readBool(cursor: Cursor): boolean {
  const first = peek(cursor)
  if (first === 0x74) literal(cursor, 'true')
  else if (first === 0x66) literal(cursor, 'false')
  else if (first === 0x6e) literal(cursor, 'null')
  else refuse()
  return first === 0x74
}

/** Not a kind of the reference, so without its tolerances. */
function readUint(cursor: Cursor): number {
  if (peek(cursor) === 0x6e) {
    literal(cursor, 'null')
    return 0
  }
  const letters = readNumberLetters(cursor).toString('latin1')
  const value = Number(letters)
  return /^[0-9]{1,16}$/.test(letters) && Number.isSafeInteger(value) ? value : refuse()
}

function readUint8(cursor: Cursor): number {
  const { bytes, at } = cursor
  // The elements of an array of bytes: one to three digits, and what ends them.
  const first = bytes[at]! - 0x30
  if (first >= 0 && first <= 9) {
    let value = first
    let end = at + 1
    for (let digit = bytes[end]! - 0x30; digit >= 0 && digit <= 9 && end < at + 3; digit = bytes[++end]! - 0x30) {
      value = value * 10 + digit
    }
    const next = bytes[end]
    if (next === comma || next === closeBracket || next === closeBrace) {
      if (value > 255) refuse()
      cursor.at = end
      return value
    }
  }
  const token = peek(cursor)
  if (token === 0x6e) {
    literal(cursor, 'null')
    return 0
  }
  if (token !== quote) return parseUint8(readNumberLetters(cursor).toString('latin1'))
  const quoted = readString(cursor)
  return quoted.length === 0 ? 0 : parseUint8(quoted.toString('latin1'))
}

/** Integral decimal notation of any shape (`1.0`, `10e-1`, `+007`) whose value is 0 to 255; never a minus sign. */
function parseUint8(letters: string): number {
  const match = /^\+?([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?$/.exec(letters) ?? refuse()
  const whole = match[1] ?? ''
  const fraction = match[2] ?? ''
  const digits = whole + fraction
  if (digits === '' || digits.length > 1024) refuse()
  const significant = digits.replace(/^0+/, '')
  if (significant === '') return 0
  const trimmed = significant.replace(/0+$/, '')
  const exponent = Number(match[3] ?? 0) - fraction.length + (significant.length - trimmed.length)
  if (exponent < 0 || trimmed.length + exponent > 3) refuse()
  const value = Number(trimmed) * 10 ** exponent
  return value <= 255 ? value : refuse()
}

/** Base64 or integers. A fixed array may be `{}` for zeros; integers beyond its length are rejected, as they are there. */
function readBytes(cursor: Cursor, limit: number, emptyObject: boolean): Buffer {
  const first = peek(cursor)
  if (first === quote) return Base64.decode(readString(cursor)) ?? refuse()
  if (first === 0x6e) {
    literal(cursor, 'null')
    return nothing
  }
  if (first === openBrace && emptyObject) {
    readEmptyObject(cursor)
    return nothing
  }
  if (first !== openBracket) refuse()
  const values: number[] = []
  readElements(cursor, () => {
    if (values.length >= limit) refuse()
    values.push(readUint8(cursor))
  })
  return Buffer.from(values)
}

/**
 * The halves of a key are compared when it is used. The reference never does so; where its recorded responses accept
 * integers (which none of its clients send) with any second half, only the seed is passed on.
 */
function readPrivateKey(cursor: Cursor): Buffer {
  const isIntegers = peek(cursor) === openBracket
  const key = readBytes(cursor, 64, true)
  return isIntegers && key.length === 64 && cursor.wire === 'reference' ? key.subarray(0, 32) : key
}
