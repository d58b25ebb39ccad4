/** Signed transactions as a node reads them, and their JSON form. */
import { decodeBase64, decodeUtf8Lossy, encodeBase64 } from '#platform'
import * as Address from './Address.js'
import * as Bytes from './internal/Bytes.js'
import * as CanonicalForm from './internal/CanonicalForm.js'
import * as Codec from './internal/Codec.js'
import type { Kind, List, Struct, UintMap, ValueOf } from './internal/Schema.js'
import { submitted as schema } from './internal/SignatureSchema.js'
import { submittedTransaction as transactionSchema } from './internal/TransactionSchema.js'
import { isObject } from './Json.js'
import { DecodeError, Reader } from './Msgpack.js'
import type { Transaction } from './Transaction.js'

// A signer rejects early. A node also reads transactions without sender or type, with an overlong note or an incomplete
// multisig, because its clients expect the rejection to come from the ledger's own rules.

export { DecodeError, EncodeError } from './Msgpack.js'

/**
 * A signed transaction that is not validated. If missing, `type` is '' and `snd` is 32 zero bytes; `v` and `thr` of a
 * multisig are 0 and its `subsig` is empty.
 */
export type Submitted = ValueOf<typeof schema>

/** A post-quantum signature: scheme name, salt, public key and signature. */
export type PostQuantumSignature = NonNullable<Submitted['pqsig']>

/** A value of the JSON form. */
export type JsonValue = bigint | number | string | boolean | JsonValue[] | JsonObject
/** An object of the JSON form. */
export type JsonObject = { [name: string]: JsonValue }

/** A decoded signed transaction: the values, their canonical bytes, the id, and where the next one begins. */
export type Decoded = CanonicalForm.DecodedTransaction<Submitted>

const form = /* @__PURE__ */ CanonicalForm.formOf(schema)

/**
 * Reads signed transactions that are concatenated without separators, at most `maxCount + 1`, which is enough to detect
 * that there are too many.
 *
 * @throws DecodeError with `position`, the number of bytes read.
 */
export function decodeAll(bytes: Uint8Array, maxCount: number): Decoded[] {
  const all: Decoded[] = []
  const reader = new Reader(bytes)
  while (reader.remaining > 0 && all.length <= maxCount) all.push(next(reader))
  return all
}

/**
 * Reads the signed transaction that begins at `position`.
 *
 * @default position 0
 * @throws DecodeError with `position`, the number of bytes read.
 */
export function decodeFirst(bytes: Uint8Array, position = 0): Decoded {
  return next(new Reader(bytes, position))
}

/**
 * Whether the bytes are one signed transaction in canonical form, which {@link decodeFirst} reads. Costs less than
 * decoding, for callers that do not need the values.
 */
export function isCanonical(bytes: Uint8Array): boolean {
  return CanonicalForm.struct(schema, bytes, 0, false) === bytes.length
}

/**
 * Encodes a transaction that was not decoded from msgpack, for callers that need it with its bytes.
 *
 * @throws EncodeError
 */
export function withBytes(signed: Submitted): Decoded {
  return CanonicalForm.encode(form, signed, 0)
}

/**
 * The canonical encoding.
 *
 * @throws EncodeError
 */
export function encode(signed: Submitted): Uint8Array {
  return Codec.encode(schema, signed)
}

/**
 * The canonical encoding of the transaction alone, from which its id and signatures are computed. Unlike
 * `Transaction.encode` it writes everything that {@link decodeFirst} reads, because rejections contain the id too.
 *
 * @throws EncodeError
 */
export function transactionBytes(transaction: Transaction): Uint8Array {
  return Codec.encode(transactionSchema, transaction)
}

/**
 * Returns the JSON form of nodes: addresses as text, other bytes in base64, 64-bit integers as bigints, zero values
 * omitted. Asset names that are not UTF-8 get replacement characters, and only those cannot be read back exactly.
 */
export function toJson(signed: Submitted): JsonObject {
  return writeStruct(schema, signed)
}

/**
 * Reads the JSON form. Integers may be numbers or bigints; null is the same as absent.
 *
 * @throws DecodeError
 */
export function fromJson(value: unknown): Submitted {
  if (typeof value !== 'object' || value === null) throw new DecodeError('expected an object')
  return (read(schema, value) ?? Codec.zeroOf(schema)) as Submitted
}

function next(reader: Reader): Decoded {
  try {
    const decoded = CanonicalForm.decode<Submitted>(form, reader)
    return decoded ?? CanonicalForm.encode(form, Codec.zeroOf(schema) as Submitted, reader.position)
  } catch (error) {
    if (error instanceof DecodeError) error.position = reader.position
    throw error
  }
}

type Values = Record<string, unknown>

const maxUint64 = 2n ** 64n - 1n

/** Returns the JSON form of a value that fits the schema. */
function write(kind: Kind, value: unknown): JsonValue {
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

function writeStruct(kind: Struct, values: Values): JsonObject {
  const out: JsonObject = {}
  for (const field of kind.fields) {
    const value = values[field.name]
    if (value !== undefined && !Codec.isZeroValue(field.of, value)) out[field.name] = write(field.of, value)
  }
  return out
}

function writeMap(kind: UintMap, values: Map<bigint, unknown>): JsonObject {
  const out: JsonObject = {}
  for (const [key, value] of values) out[String(key)] = write(kind.of, value)
  return out
}

/** Reads the JSON form. As in decoding, zero values are undefined, and recursion is as deep as the schema. */
function read(kind: Kind, value: unknown): unknown {
  if (value === null || value === undefined) return undefined
  const result = readPresent(kind, value)
  return Codec.isZeroValue(kind, result) ? undefined : result
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
  const bytes = Bytes.fromUtf8(value)
  if (bytes.length > max) throw new DecodeError('text too long')
  // Half of a surrogate pair has no UTF-8 form and would silently become another character.
  if (Bytes.toUtf8(bytes) !== value) throw new DecodeError('text is not Unicode')
  return value
}

function list(kind: List, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new DecodeError('expected an array')
  if (value.length > kind.max) throw new DecodeError('list too long')
  let total = 0
  return Array.from(value, (element, index) => {
    const result = inside(String(index), () => read(kind.of, element) ?? Codec.zeroOf(kind.of))
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
      inside(name, () => read(kind.of, members[name]) ?? Codec.zeroOf(kind.of)),
    )
  }
  return out
}

function struct(kind: Struct, value: unknown): Values {
  const members = object(value)
  const out = Codec.zeroOf(kind) as Values
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
