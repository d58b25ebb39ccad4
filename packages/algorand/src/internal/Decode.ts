import { decodeLatin1 } from '#platform'
import { DecodeError, type Reader } from '../Msgpack.js'
import * as Bytes from './Bytes.js'
import type { Field, Kind, List, Struct, UintMap } from './Schema.js'

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
      return fixed(kind.size, kind.fillsShort, reader)
    case 'bytes': {
      const value = reader.isArray() ? integers(kind.max, reader) : reader.bin()
      if (value.length > kind.max) throw new DecodeError('byte string too long')
      return value.length === 0 ? undefined : value
    }
    case 'utf8':
      return checkedText(reader.view(), kind.max, 'utf8')
    case 'text':
      return checkedText(reader.view(), kind.max, 'text')
    case 'list':
      return list(kind, reader)
    case 'uintMap':
      return uintMap(kind, reader)
    case 'struct':
      return struct(kind, reader)
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

function fixed(size: number, fillsShort: boolean, reader: Reader): Uint8Array | undefined {
  const given = reader.isArray() ? integers(size, reader) : reader.bin()
  // Empty is zero, as for every other kind of field.
  if (given.length === 0) return undefined
  if (given.length > size || (given.length < size && !fillsShort)) throw new DecodeError('wrong number of bytes')
  if (Bytes.isZero(given)) return undefined
  if (given.length === size) return given
  const filled = new Uint8Array(size)
  filled.set(given)
  return filled
}

function integers(max: number, reader: Reader): Uint8Array {
  const count = reader.arrayHeader()
  if (count > max) throw new DecodeError('wrong number of bytes')
  const out = new Uint8Array(count)
  for (let index = 0; index < count; index++) out[index] = reader.smallUint(255)
  return out
}

function checkedText(view: Uint8Array, max: number, kind: 'utf8' | 'text'): string | Uint8Array | undefined {
  if (view.length > max) throw new DecodeError('text too long')
  if (view.length === 0) return undefined
  const text = Bytes.decodeText(view)
  if (text !== undefined) return text
  if (kind === 'text') return view.slice()
  throw new DecodeError('text is not UTF-8')
}

function list(kind: List, reader: Reader): unknown[] | undefined {
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

function uintMap(kind: UintMap, reader: Reader): Map<bigint, unknown> | undefined {
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

function struct(kind: Struct, reader: Reader): Values | undefined {
  const values: Values = {}
  if (kind.positional.length > 0 && reader.isArray()) {
    const count = reader.arrayHeader()
    if (count > kind.positional.length) throw new DecodeError('array form too long')
    for (let index = 0; index < count; index++) member(kind.byName.get(kind.positional[index]!)!, values, reader)
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
      member(field, values, reader)
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

function member(field: Field, values: Values, reader: Reader): void {
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
