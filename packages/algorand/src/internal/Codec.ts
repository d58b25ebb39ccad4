/** Writes values as canonical msgpack by their schemas, and reads them. */
import { decodeLatin1 } from '#platform'
import { DecodeError, EncodeError, type Reader, Writer } from '../Msgpack.js'
import * as Bytes from './Bytes.js'
import type { Field, Kind, List, Struct, UintMap } from './Schema.js'

/**
 * Encodes a value in canonical form.
 *
 * @throws EncodeError
 */
export function encode(kind: Kind, value: unknown): Uint8Array {
  const writer = new Writer()
  write(kind, value, writer)
  return writer.bytes()
}

/** Writes a value in canonical form. Rejects whatever decoding would reject, so that nothing unreadable is signed. */
function write(kind: Kind, value: unknown, writer: Writer): void {
  switch (kind.kind) {
    case 'uint':
      writer.uint(integer(kind.bits, value))
      return
    case 'bool':
      if (typeof value !== 'boolean') throw new EncodeError('expected a boolean')
      writer.bool(value)
      return
    case 'fixed':
      if (byteString(value).length !== kind.size) throw new EncodeError('wrong number of bytes')
      writer.bin(byteString(value))
      return
    case 'bytes':
      if (byteString(value).length > kind.max) throw new EncodeError('byte string too long')
      writer.bin(byteString(value))
      return
    case 'utf8':
    case 'text':
      writeText(kind.max, kind.kind === 'text', value, writer)
      return
    case 'list':
      writeList(kind, value, writer)
      return
    case 'uintMap':
      writeMap(kind, value, writer)
      return
    case 'struct':
      writeStruct(kind, value, writer)
      return
  }
}

function integer(bits: number, value: unknown): bigint | number {
  if (typeof value !== 'bigint' && typeof value !== 'number') throw new EncodeError('expected an integer')
  if (bits !== 64 && value > 2 ** bits - 1) throw new EncodeError('integer out of range')
  return value
}

function byteString(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new EncodeError('expected a Uint8Array')
  return value
}

function writeText(max: number, allowsBytes: boolean, value: unknown, writer: Writer): void {
  if (typeof value !== 'string' && !allowsBytes) throw new EncodeError('expected text')
  const bytes = typeof value === 'string' ? Bytes.fromUtf8(value) : byteString(value)
  if (bytes.length > max) throw new EncodeError('text too long')
  writer.strBytes(bytes)
}

function writeList(kind: List, value: unknown, writer: Writer): void {
  if (!Array.isArray(value)) throw new EncodeError('expected an array')
  if (value.length > kind.max) throw new EncodeError('list too long')
  writer.arrayHeader(value.length)
  let total = 0
  for (const element of value) {
    if (element instanceof Uint8Array) total += element.length
    if (total > kind.maxTotal) throw new EncodeError('list has too many bytes in total')
    write(kind.of, element, writer)
  }
}

function writeMap(kind: UintMap, value: unknown, writer: Writer): void {
  if (!(value instanceof Map)) throw new EncodeError('expected a Map')
  if (value.size > kind.max) throw new EncodeError('map too long')
  writer.mapHeader(value.size)
  const keys = [...value.keys()].map((key) => {
    if (typeof key !== 'bigint') throw new EncodeError('expected bigint keys')
    return key
  })
  for (const key of keys.sort((a, b) => (a < b ? -1 : 1))) {
    writer.uint(key)
    write(kind.of, value.get(key), writer)
  }
}

function writeStruct(kind: Struct, value: unknown, writer: Writer): void {
  const values = membersOf(value)
  const present: Field[] = []
  let given = 0
  for (const field of kind.fields) {
    const member = values[field.name]
    if (member === undefined) {
      if (field.presence === 'required') throw new EncodeError(`field ${field.name} is missing`, 'missing_field')
      continue
    }
    given++
    if (!isZeroValue(field.of, member)) present.push(field)
    else if (field.presence === 'required') throw new EncodeError(`field ${field.name} is zero`, 'missing_field')
  }
  // A property that is not in the schema is probably misspelled. Omitting it would sign something else.
  if (given !== countDefined(values)) throw new EncodeError('unknown field', 'unknown_field')
  writer.mapHeader(present.length)
  for (const field of present) {
    writer.raw(field.key)
    write(field.of, values[field.name], writer)
  }
}

function membersOf(value: unknown): Readonly<Values> {
  if (typeof value !== 'object' || value === null) throw new EncodeError('expected an object')
  return value as Values
}

function countDefined(values: Readonly<Values>): number {
  let count = 0
  for (const name in values) if (values[name] !== undefined) count++
  return count
}

/**
 * Whether a field with this value is omitted. Values of a wrong type are not zero, because writing them reports the
 * error.
 */
export function isZeroValue(kind: Kind, value: unknown): boolean {
  switch (kind.kind) {
    case 'uint':
      return value === 0n || value === 0
    case 'bool':
      return value === false
    case 'fixed':
      return value instanceof Uint8Array && value.length === kind.size && Bytes.isZero(value)
    case 'bytes':
      return value instanceof Uint8Array && value.length === 0
    case 'utf8':
      return value === ''
    case 'text':
      return value === '' || (value instanceof Uint8Array && value.length === 0)
    case 'list':
      return Array.isArray(value) && value.length === 0
    case 'uintMap':
      return value instanceof Map && value.size === 0
    case 'struct':
      return !kind.keepEmpty && isZeroStruct(kind, value)
  }
}

function isZeroStruct(kind: Struct, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const values = value as Values
  for (const name in values) {
    if (values[name] === undefined) continue
    const field = kind.byName.get(name)
    if (field === undefined || !isZeroValue(field.of, values[name])) return false
  }
  return true
}

/**
 * Reads a value by its schema. Recursion is as deep as the schema, never as deep as the input. Zero values are returned
 * as undefined, so that a field sent as zero equals one that was not sent.
 */
export function decode(kind: Kind, reader: Reader): unknown {
  if (reader.tryNil()) return undefined
  switch (kind.kind) {
    case 'uint': {
      if (kind.bits !== 64) return reader.smallUint(kind.max) || undefined
      return reader.uint() || undefined
    }
    case 'bool':
      return reader.bool() || undefined
    case 'fixed':
      return readFixed(kind.size, kind.fillsShort, reader)
    case 'bytes': {
      const value = reader.isArray() ? readIntegers(kind.max, reader) : reader.bin()
      if (value.length > kind.max) throw new DecodeError('byte string too long')
      return value.length === 0 ? undefined : value
    }
    case 'utf8':
      return readText(reader.view(), kind.max, 'utf8')
    case 'text':
      return readText(reader.view(), kind.max, 'text')
    case 'list':
      return readList(kind, reader)
    case 'uintMap':
      return readMap(kind, reader)
    case 'struct':
      return readStruct(kind, reader)
  }
}

/** The value of a list element or map value that was sent as zero. Its position matters, so it is not omitted. */
export function zeroOf(kind: Kind): unknown {
  switch (kind.kind) {
    case 'uint':
      return kind.bits === 64 ? 0n : 0
    case 'bool':
      return false
    case 'fixed':
      return new Uint8Array(kind.size)
    case 'bytes':
      return new Uint8Array(0)
    case 'utf8':
    case 'text':
      return ''
    case 'list':
      return []
    case 'uintMap':
      return new Map()
    case 'struct':
      return finish(kind, {})
  }
}

function readFixed(size: number, fillsShort: boolean, reader: Reader): Uint8Array | undefined {
  const given = reader.isArray() ? readIntegers(size, reader) : reader.bin()
  // Empty is zero, as for every other kind of field.
  if (given.length === 0) return undefined
  if (given.length > size || (given.length < size && !fillsShort)) throw new DecodeError('wrong number of bytes')
  if (Bytes.isZero(given)) return undefined
  if (given.length === size) return given
  const filled = new Uint8Array(size)
  filled.set(given)
  return filled
}

function readIntegers(max: number, reader: Reader): Uint8Array {
  const count = reader.arrayHeader()
  if (count > max) throw new DecodeError('wrong number of bytes')
  const out = new Uint8Array(count)
  for (let index = 0; index < count; index++) out[index] = reader.smallUint(255)
  return out
}

function readText(view: Uint8Array, max: number, kind: 'utf8' | 'text'): string | Uint8Array | undefined {
  if (view.length > max) throw new DecodeError('text too long')
  if (view.length === 0) return undefined
  const text = Bytes.toUtf8(view)
  if (text !== undefined) return text
  if (kind === 'text') return view.slice()
  throw new DecodeError('text is not UTF-8')
}

function readList(kind: List, reader: Reader): unknown[] | undefined {
  const count = reader.arrayHeader()
  if (count > kind.max) throw new DecodeError('list too long')
  const out: unknown[] = []
  let total = 0
  for (let index = 0; index < count; index++) {
    // A node keeps it as nil, which no value of the list represents, so another transaction would be signed.
    if (kind.of.kind === 'bytes' && !kind.of.isNilRead && reader.peek() === 0xc0) throw new DecodeError('nil in a list')
    const value = decode(kind.of, reader) ?? zeroOf(kind.of)
    if (value instanceof Uint8Array) total += value.length
    if (total > kind.maxTotal) throw new DecodeError('list has too many bytes in total')
    out.push(value)
  }
  return count === 0 ? undefined : out
}

function readMap(kind: UintMap, reader: Reader): Map<bigint, unknown> | undefined {
  const count = reader.mapHeader()
  if (count > kind.max) throw new DecodeError('map too long')
  const out = new Map<bigint, unknown>()
  for (let index = 0; index < count; index++) {
    const key = reader.tryNil() ? 0n : reader.uint()
    if (out.has(key)) throw new DecodeError(`key ${key} occurs twice`)
    out.set(key, decode(kind.of, reader) ?? zeroOf(kind.of))
  }
  return count === 0 ? undefined : out
}

type Values = Record<string, unknown>

function readStruct(kind: Struct, reader: Reader): Values | undefined {
  const values: Values = {}
  if (kind.positional.length > 0 && reader.isArray()) {
    const count = reader.arrayHeader()
    if (count > kind.positional.length) throw new DecodeError('array form too long')
    for (let index = 0; index < count; index++) readMember(kind.byName.get(kind.positional[index]!)!, values, reader)
  } else {
    const count = reader.mapHeader()
    let last = -1
    let seenLow = 0
    let seenHigh = 0
    for (let index = 0; index < count; index++) {
      const field = readKey(kind, last + 1, reader)
      last = field.index
      const bit = 1 << (last & 31)
      // Readers disagree about a second value: some take it, others merge maps and lists. Accepting it could sign
      // something else.
      if (((last < 32 ? seenLow : seenHigh) & bit) !== 0) throw new DecodeError(`field ${field.name} occurs twice`)
      if (last < 32) seenLow |= bit
      else seenHigh |= bit
      readMember(field, values, reader)
    }
  }
  const isZero = isEmpty(values) && !kind.keepEmpty && kind.requiredCount === 0
  return isZero ? undefined : finish(kind, values)
}

/** Finds the field of a key. Keys are mostly in order, so the search begins after the last one. */
function readKey(kind: Struct, from: number, reader: Reader): Field {
  const length = reader.blobHeader()
  const { bytes, position } = reader
  reader.position += length
  const { fields } = kind
  for (let step = 0; step < fields.length; step++) {
    const field = fields[(from + step) % fields.length]!
    if (field.keyLength === length && isKey(field, bytes, position)) return field
  }
  throw DecodeError.unknownField(decodeLatin1(bytes.subarray(position, position + Math.min(length, 64))))
}

function isKey(field: Field, bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < field.keyLength; index++) {
    if (bytes[start + index] !== field.key[index + 1]) return false
  }
  return true
}

function readMember(field: Field, values: Values, reader: Reader): void {
  let value: unknown
  try {
    value = decode(field.of, reader)
  } catch (error) {
    if (error instanceof DecodeError) error.placeInside(field.name)
    throw error
  }
  if (value !== undefined) values[field.name] = value
}

function finish(kind: Struct, values: Values): Values {
  for (const field of kind.fields) {
    if (field.presence === 'optional' || values[field.name] !== undefined) continue
    if (field.presence === 'required') throw new DecodeError(`field ${field.name} is missing or zero`, 'missing_field')
    values[field.name] = zeroOf(field.of)
  }
  return values
}

function isEmpty(values: Values): boolean {
  for (const _ in values) return false
  return true
}
