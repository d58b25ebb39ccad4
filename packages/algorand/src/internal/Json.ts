import { decodeBase64, decodeUtf8Lossy, encodeBase64 } from '#platform'
import * as Address from '../Address.js'
import { isObject } from '../Json.js'
import { DecodeError } from '../Msgpack.js'
import * as Bytes from './Bytes.js'
import { zeroOf } from './Decode.js'
import { isZeroValue } from './Encode.js'
import type { Kind, List, Struct, UintMap } from './Schema.js'

export type JsonValue = bigint | number | string | boolean | JsonValue[] | JsonObject
export type JsonObject = { [name: string]: JsonValue }

type Values = Record<string, unknown>

const maxUint64 = 2n ** 64n - 1n

/** Returns the JSON form of a value that fits the schema. */
export function write(kind: Kind, value: unknown): JsonValue {
  switch (kind.kind) {
    case 'uint':
    case 'bool':
    case 'utf8':
      return value as bigint | number | boolean | string
    case 'fixed':
      return kind.isAddress ? Address.encode(value as Uint8Array) : encodeBase64(value as Uint8Array)
    case 'bytes':
      return encodeBase64(value as Uint8Array)
    case 'text':
      // JSON cannot contain text that is not UTF-8; nodes use replacement characters too.
      return typeof value === 'string' ? value : decodeUtf8Lossy(value as Uint8Array)
    case 'list':
      return (value as unknown[]).map((element) => write(kind.of, element))
    case 'uintMap':
      return writeMap(kind, value as Map<bigint, unknown>)
    case 'struct':
      return writeStruct(kind, value as Values)
  }
}

export function writeStruct(kind: Struct, values: Values): JsonObject {
  const out: JsonObject = {}
  for (const field of kind.fields) {
    const value = values[field.name]
    if (value !== undefined && !isZeroValue(field.of, value)) out[field.name] = write(field.of, value)
  }
  return out
}

function writeMap(kind: UintMap, values: Map<bigint, unknown>): JsonObject {
  const out: JsonObject = {}
  for (const [key, value] of values) out[String(key)] = write(kind.of, value)
  return out
}

/** Reads the JSON form. As in decoding, zero values are undefined, and recursion is as deep as the schema. */
export function read(kind: Kind, value: unknown): unknown {
  if (value === null || value === undefined) return undefined
  const result = readPresent(kind, value)
  return isZeroValue(kind, result) ? undefined : result
}

function readPresent(kind: Kind, value: unknown): unknown {
  switch (kind.kind) {
    case 'uint':
      return kind.bits === 64 ? integer(value, maxUint64) : Number(integer(value, BigInt(kind.max)))
    case 'bool':
      if (typeof value !== 'boolean') throw new DecodeError('expected a boolean')
      return value
    case 'fixed': {
      if (kind.isAddress) return address(value)
      const bytes = fromBase64(value, kind.size)
      if (bytes.length === 0) return new Uint8Array(kind.size)
      if (bytes.length !== kind.size) throw new DecodeError('wrong number of bytes')
      return bytes
    }
    case 'bytes':
      return fromBase64(value, kind.max)
    case 'utf8':
    case 'text':
      return text(value, kind.max)
    case 'list':
      return list(kind, value)
    case 'uintMap':
      return uintMap(kind, value)
    case 'struct':
      return struct(kind, value)
  }
}

function integer(value: unknown, max: bigint): bigint {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) throw new DecodeError('expected an integer')
  const exact = BigInt(value as bigint | number)
  if (exact < 0n || exact > max) throw new DecodeError('integer out of range')
  return exact
}

function address(value: unknown): Uint8Array {
  if (typeof value !== 'string') throw new DecodeError('expected an address')
  try {
    return Address.decode(value)
  } catch (error) {
    if (error instanceof Address.AddressError) throw new DecodeError(error.message)
    throw error
  }
}

function fromBase64(value: unknown, max: number): Uint8Array {
  if (typeof value !== 'string') throw new DecodeError('expected bytes as base64 text')
  if (value.length > Math.ceil(max / 3) * 4) throw new DecodeError('byte string too long')
  const bytes = decodeBase64(value)
  if (bytes === undefined) throw new DecodeError('not base64')
  if (bytes.length > max) throw new DecodeError('byte string too long')
  return bytes
}

function text(value: unknown, max: number): string {
  if (typeof value !== 'string') throw new DecodeError('expected text')
  if (value.length > max) throw new DecodeError('text too long')
  const bytes = Bytes.encodeText(value)
  if (bytes.length > max) throw new DecodeError('text too long')
  // Half of a surrogate pair has no UTF-8 form and would silently become another character.
  if (Bytes.decodeText(bytes) !== value) throw new DecodeError('text is not Unicode')
  return value
}

function list(kind: List, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new DecodeError('expected an array')
  if (value.length > kind.max) throw new DecodeError('list too long')
  let total = 0
  return Array.from(value, (element, index) => {
    const result = inside(String(index), () => read(kind.of, element) ?? zeroOf(kind.of))
    if (result instanceof Uint8Array) total += result.length
    if (total > kind.maxTotal) throw new DecodeError('list has too many bytes in total')
    return result
  })
}

function uintMap(kind: UintMap, value: unknown): Map<bigint, unknown> {
  const members = object(value)
  const names = Object.keys(members)
  if (names.length > kind.max) throw new DecodeError('map too long')
  const out = new Map<bigint, unknown>()
  for (const name of names) {
    if (!/^(0|[1-9][0-9]{0,19})$/.test(name)) throw new DecodeError('expected integers as names')
    out.set(
      integer(BigInt(name), maxUint64),
      inside(name, () => read(kind.of, members[name]) ?? zeroOf(kind.of)),
    )
  }
  return out
}

function struct(kind: Struct, value: unknown): Values {
  const members = object(value)
  const out = zeroOf(kind) as Values
  for (const name of Object.keys(members)) {
    const field = kind.byName.get(name)
    if (field === undefined) throw DecodeError.unknownField(name)
    const result = inside(name, () => read(field.of, members[name]))
    if (result !== undefined) out[name] = result
  }
  return out
}

function object(value: unknown): Values {
  if (!isObject(value)) throw new DecodeError('expected an object')
  return value
}

function inside<T>(name: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof DecodeError) error.placeInside(name)
    throw error
  }
}
