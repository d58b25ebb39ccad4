import { EncodeError, type Writer } from '../Msgpack.js'
import * as Bytes from './Bytes.js'
import type { Field, Kind, List, Struct, UintMap } from './Schema.js'

/** Writes a value in canonical form. Rejects whatever decoding would reject, so that nothing unreadable is signed. */
export function encode(kind: Kind, value: unknown, writer: Writer): void {
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
      text(kind.max, kind.kind === 'text', value, writer)
      return
    case 'list':
      list(kind, value, writer)
      return
    case 'uintMap':
      uintMap(kind, value, writer)
      return
    case 'struct':
      struct(kind, value, writer)
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

function text(max: number, allowsBytes: boolean, value: unknown, writer: Writer): void {
  if (typeof value !== 'string' && !allowsBytes) throw new EncodeError('expected text')
  const bytes = typeof value === 'string' ? Bytes.encodeText(value) : byteString(value)
  if (bytes.length > max) throw new EncodeError('text too long')
  writer.strBytes(bytes)
}

function list(kind: List, value: unknown, writer: Writer): void {
  if (!Array.isArray(value)) throw new EncodeError('expected an array')
  if (value.length > kind.max) throw new EncodeError('list too long')
  writer.arrayHeader(value.length)
  let total = 0
  for (const element of value) {
    if (element instanceof Uint8Array) total += element.length
    if (total > kind.maxTotal) throw new EncodeError('list has too many bytes in total')
    encode(kind.of, element, writer)
  }
}

function uintMap(kind: UintMap, value: unknown, writer: Writer): void {
  if (!(value instanceof Map)) throw new EncodeError('expected a Map')
  if (value.size > kind.max) throw new EncodeError('map too long')
  writer.mapHeader(value.size)
  const keys = [...value.keys()].map((key) => {
    if (typeof key !== 'bigint') throw new EncodeError('expected bigint keys')
    return key
  })
  for (const key of keys.sort((a, b) => (a < b ? -1 : 1))) {
    writer.uint(key)
    encode(kind.of, value.get(key), writer)
  }
}

type Values = Readonly<Record<string, unknown>>

function struct(kind: Struct, value: unknown, writer: Writer): void {
  const values = members(value)
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
    encode(field.of, values[field.name], writer)
  }
}

function members(value: unknown): Values {
  if (typeof value !== 'object' || value === null) throw new EncodeError('expected an object')
  return value as Values
}

function countDefined(values: Values): number {
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
