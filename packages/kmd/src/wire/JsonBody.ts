/**
 * Reads a request body into the fields of one operation, as the Go daemon does: one pass over the bytes, every member
 * checked against the operation's fields. Unknown fields are rejected, so the fields bound the nesting and size of the
 * result, regardless of the input.
 *
 * The tolerances are the reference's, not ours: positional arrays, numbers for texts, quoted small integers, raw
 * control characters, and anything after the first value. Bytes arrive as base64 or as an array of integers.
 *
 * Reads bytes and not a JavaScript string, so that a password exists once, in a buffer that can be wiped.
 */
import { Address } from '@latchkey/algorand'
import type { Field, FieldsOf, Kind, List, Wire } from '@latchkey/kmd-api'
import { KmdError } from '../errors.js'
import {
  type Cursor,
  closeBrace,
  closeBracket,
  colon,
  comma,
  decodeBase64,
  equalsAscii,
  hasAsciiAt,
  literal,
  openBrace,
  openBracket,
  peek,
  quote,
  readAscii,
  readNumberLetters,
  readString,
  readUint8,
  refuse,
} from './JsonLexer.js'

type Value = Buffer | string | boolean | number | Value[] | Fields
type Fields = { [name: string]: Value }

/**
 * Nothing in the API nests deeper than five levels. A deeper value cannot fit any field and is rejected while it is
 * read.
 */
export const maxDepth = 32

export function read<const F extends readonly Field[]>(body: Buffer, fields: F, wire: Wire): FieldsOf<F, Buffer> {
  const cursor: Cursor = { bytes: body, at: 0, depth: 0, wire }
  return readObject(cursor, fields) as FieldsOf<F, Buffer>
}

const nothing = Buffer.alloc(0)

function zero(kind: Kind): Value {
  switch (kind.type) {
    case 'text':
    case 'name':
    case 'bytes':
    case 'fixed':
    case 'publicKey':
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

/** The zeros of fields that need no object of their own in each request. */
const templates = new WeakMap<readonly Field[], Fields>()

function zeros(fields: readonly Field[]): Fields {
  // Copying an object costs a quarter of building it.
  const template = templates.get(fields)
  if (template !== undefined) return { ...template }
  const result: Fields = {}
  for (const field of fields) result[field.name] = zero(field.kind)
  const isFlat = fields.every(({ kind }) => kind.type !== 'list' && kind.type !== 'object')
  if (isFlat) templates.set(fields, { ...result })
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

/** Enough for every member once, and for the repetitions that the reference accepts. */
const maxMembers = 64

function readMembers(cursor: Cursor, fields: readonly Field[], result: Fields): void {
  cursor.at++
  if (peek(cursor) === closeBrace) {
    cursor.at++
    return
  }
  let seen = 0
  let wire: Wire | undefined
  for (let count = 1; ; count++) {
    if (count > maxMembers || peek(cursor) !== quote) refuse()
    const index = findField(cursor, fields)
    const field = fields[index]!
    const bit = 1 << index
    if ((seen & bit) !== 0 && !lastWins.has(field.kind.type)) refuse()
    seen |= bit
    if (wire !== undefined && field.wire !== undefined && field.wire !== wire) refuse()
    wire ??= field.wire
    if (peek(cursor) !== colon) refuse()
    cursor.at++
    result[field.name] = readValue(cursor, field.kind)
    const next = peek(cursor)
    cursor.at++
    if (next === closeBrace) return
    if (next !== comma) refuse()
  }
}

/**
 * If a member is sent twice, the last one counts, as in the reference. However, the reference merges a second object,
 * list or array into the first and signs the result; those are rejected.
 */
const lastWins: ReadonlySet<Kind['type']> = new Set(['text', 'name', 'ascii', 'bool', 'uint', 'uint8'])

function readPositions(cursor: Cursor, fields: readonly Field[], result: Fields): void {
  let next = 0
  readElements(cursor, () => {
    while (fields[next]?.wire === 'documented' || fields[next]?.ignored) next++
    const field = fields[next++] ?? refuse()
    result[field.name] = readValue(cursor, field.kind)
  })
}

function readElements(cursor: Cursor, readElement: () => void): void {
  cursor.at++
  if (peek(cursor) === closeBracket) {
    cursor.at++
    return
  }
  for (;;) {
    readElement()
    const next = peek(cursor)
    cursor.at++
    if (next === closeBracket) return
    if (next !== comma) refuse()
  }
}

function findField(cursor: Cursor, fields: readonly Field[]): number {
  const start = cursor.at + 1
  for (let index = 0; index < fields.length; index++) {
    const { name } = fields[index]!
    const end = start + name.length
    if (cursor.bytes[end] !== quote || !hasAsciiAt(cursor.bytes, start, name)) continue
    cursor.at = end + 1
    return index
  }
  return findEscapedField(cursor, fields)
}

function findEscapedField(cursor: Cursor, fields: readonly Field[]): number {
  const name = readString(cursor)
  for (let index = 0; index < fields.length; index++) if (equalsAscii(name, fields[index]!.name)) return index
  return refuse()
}

function readValue(cursor: Cursor, kind: Kind): Value {
  switch (kind.type) {
    case 'text':
      return readText(cursor)
    case 'name':
      return readText(cursor, cursor.wire === 'reference')
    case 'ascii':
      return readAscii(cursor) ?? readText(cursor).toString('latin1')
    case 'bool':
      return readBool(cursor)
    case 'uint':
      return readUint(cursor)
    case 'uint8':
      return readUint8(cursor)
    case 'bytes':
      return readBytes(cursor)
    case 'fixed':
      return readFixed(cursor, kind.length)
    case 'publicKey':
      return readPublicKey(cursor)
    case 'privateKey':
      return readPrivateKey(cursor)
    case 'list':
      return readList(cursor, kind)
    case 'object':
      return readObject(cursor, kind.fields)
  }
}

function readList(cursor: Cursor, { of, max, tooLong, tooLongText }: List): Value[] {
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
    if (list.length >= max) throw new KmdError(tooLong, tooLongText === undefined ? {} : { message: tooLongText })
    list.push(readValue(cursor, of))
  })
  cursor.depth--
  return list
}

/** A text member also accepts a bare number or boolean as text, and null for empty text. */
function readText(cursor: Cursor, foldPairs = false): Buffer {
  const first = peek(cursor)
  if (first === quote) return readString(cursor, foldPairs)
  if (first === 0x6e) {
    literal(cursor, 'null')
    return nothing
  }
  const start = cursor.at
  if (first === 0x74) literal(cursor, 'true')
  else if (first === 0x66) literal(cursor, 'false')
  else return readNumberLetters(cursor)
  return cursor.bytes.subarray(start, cursor.at)
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

const addressLength = 58

/** Reads bytes: base64, or an array of integers. */
function readBytes(cursor: Cursor): Buffer {
  const first = peek(cursor)
  if (first === quote) return decodeBase64(readString(cursor)) ?? refuse()
  return readOtherBytes(cursor, first, Math.ceil((cursor.bytes.length - cursor.at) / 2))
}

/** A fixed array may be `{}` for zeros. Integers beyond its length are rejected, as in the reference. */
function readFixed(cursor: Cursor, length: number): Buffer {
  const first = peek(cursor)
  if (first === quote) return decodeBase64(readString(cursor)) ?? refuse()
  if (first === openBrace) {
    readEmptyObject(cursor)
    return nothing
  }
  return readOtherBytes(cursor, first, length)
}

/**
 * Reads a public key, or its address, which some SDKs send instead: as text (Python's `signing_address`), or its
 * letters in base64 (an address passed to JavaScript's `signTransactionWithSpecificPublicKey`). Neither can be a key:
 * 58 letters are not base64, and 58 bytes are not a key. The checksum ensures that an address was meant.
 */
function readPublicKey(cursor: Cursor): Buffer {
  if (peek(cursor) !== quote) return readFixed(cursor, 32)
  const text = readString(cursor)
  if (text.length === addressLength) return addressOf(text) ?? refuse()
  const key = decodeBase64(text) ?? refuse()
  return key.length === addressLength ? (addressOf(key) ?? key) : key
}

function addressOf(text: Buffer): Buffer | undefined {
  const letters = text.toString('latin1')
  return Address.isValid(letters) ? Buffer.from(Address.decode(letters)) : undefined
}

/**
 * The halves of a key are compared when it is used. The reference never compares them. Its recorded responses accept
 * integers (which none of its clients send) with any second half, so in this case only the seed is passed on.
 */
function readPrivateKey(cursor: Cursor): Buffer {
  const isIntegers = peek(cursor) === openBracket
  const key = readFixed(cursor, 64)
  return isIntegers && key.length === 64 && cursor.wire === 'reference' ? key.subarray(0, 32) : key
}

/** The reference accepts `{}` for an empty list and for an array of zeros. */
function readEmptyObject(cursor: Cursor): void {
  cursor.at++
  if (peek(cursor) !== closeBrace) refuse()
  cursor.at++
}

function readOtherBytes(cursor: Cursor, first: number, limit: number): Buffer {
  if (first === 0x6e) {
    literal(cursor, 'null')
    return nothing
  }
  if (first !== openBracket) refuse()
  cursor.at++
  if (peek(cursor) === closeBracket) {
    cursor.at++
    return nothing
  }
  const out = Buffer.allocUnsafe(limit)
  for (let length = 0; ; ) {
    if (length >= limit) refuse()
    out[length++] = readUint8(cursor)
    const next = peek(cursor)
    cursor.at++
    if (next === closeBracket) return out.subarray(0, length)
    if (next !== comma) refuse()
  }
}
