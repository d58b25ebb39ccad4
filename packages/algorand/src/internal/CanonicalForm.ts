/** The canonical form of a value, and signed transactions that are decoded together with it. */
import { isUtf8 } from '#platform'
import * as Hash from '../Hash.js'
import type { Reader } from '../Msgpack.js'
import * as Bytes from './Bytes.js'
import * as Codec from './Codec.js'
import type { Field, Kind, List, Struct, UintMap } from './Schema.js'

// Recognizes a value that is already in canonical form. Every function takes the position of the value and returns the
// position after it, or `no`. `no` does not mean invalid: the caller then decodes in full, which accepts or rejects the
// value. A false positive is a bug, but returning `no` for anything unusual is safe.

export const no = -1

/**
 * Checks a struct. If `marks` is given, it receives the position of each field's value at the field's index, so that a
 * caller can find a member without parsing again. Entries of absent fields are not changed.
 */
export function struct(
  kind: Struct,
  bytes: Uint8Array,
  start: number,
  zeroAllowed: boolean,
  marks?: Uint32Array,
): number {
  const head = bytes[start]!
  let position = start + 1
  let count = head & 0x0f
  if ((head & 0xf0) !== 0x80) {
    if (head !== 0xde) return no
    count = (bytes[start + 1]! << 8) | bytes[start + 2]!
    if (!(count >= 16)) return no
    position = start + 3
  }
  if (count === 0 && !zeroAllowed && !kind.keepEmpty) return no

  const { fields } = kind
  let next = 0
  let missing = kind.requiredCount
  for (; count > 0; count--) {
    const length = bytes[position]! - 0xa0
    if (!(length >= 0 && length <= 7)) return no
    let high = 0
    let low = 0
    for (let index = 1; index <= length; index++) {
      if (index <= 4) high = (high << 8) | bytes[position + index]!
      else low = (low << 8) | bytes[position + index]!
    }
    // Fields and keys are both in ascending order, so searching onward from the last match also proves the order.
    let field: Field
    do {
      if (next === fields.length) return no
      field = fields[next++]!
    } while (field.keyHigh !== high || field.keyLow !== low || field.keyLength !== length)
    position += length + 1
    if (marks !== undefined) marks[field.index] = position
    if (field.presence === 'required') missing--
    position = value(field.of, bytes, position, false)
    if (position === no) return no
  }
  return missing === 0 ? position : no
}

/** Reads past the end return undefined, which fails every comparison or leaves the position beyond the end. */
export function value(kind: Kind, bytes: Uint8Array, start: number, zeroAllowed: boolean): number {
  switch (kind.kind) {
    case 'uint':
      return uint(kind.bits, bytes, start, zeroAllowed)
    case 'bool':
      return bytes[start] === 0xc3 || (zeroAllowed && bytes[start] === 0xc2) ? start + 1 : no
    case 'fixed':
      return fixed(kind.size, bytes, start, zeroAllowed)
    case 'bytes':
      return byteString(kind.max, bytes, start, zeroAllowed)
    case 'utf8':
      return text(kind.max, bytes, start, zeroAllowed, true)
    case 'text':
      return text(kind.max, bytes, start, zeroAllowed, false)
    case 'list':
      return list(kind, bytes, start, zeroAllowed)
    case 'uintMap':
      return uintMap(kind, bytes, start, zeroAllowed)
    case 'struct':
      return struct(kind, bytes, start, zeroAllowed)
  }
}

function uint(bits: number, bytes: Uint8Array, start: number, zeroAllowed: boolean): number {
  const head = bytes[start]!
  if (head < 0x80) return head !== 0 || zeroAllowed ? start + 1 : no
  if (head === 0xcc) return within(bytes, start + 2, bytes[start + 1]! >= 0x80)
  if (head === 0xcd) return within(bytes, start + 3, bits >= 16 && bytes[start + 1]! > 0)
  if (head === 0xce) return within(bytes, start + 5, bits >= 32 && (bytes[start + 1]! | bytes[start + 2]!) > 0)
  if (head !== 0xcf) return no
  const high = bytes[start + 1]! | bytes[start + 2]! | bytes[start + 3]! | bytes[start + 4]!
  return within(bytes, start + 9, bits === 64 && high > 0)
}

function fixed(size: number, bytes: Uint8Array, start: number, zeroAllowed: boolean): number {
  const end = byteString(size, bytes, start, zeroAllowed)
  if (end === no) return no
  let position = start + (size < 0x100 ? 2 : 3)
  if (end - position !== size) return no
  if (zeroAllowed) return end
  while (position < end) if (bytes[position++] !== 0) return end
  return no
}

function byteString(max: number, bytes: Uint8Array, start: number, zeroAllowed: boolean): number {
  const head = bytes[start]
  let length = bytes[start + 1]!
  if (head === 0xc4) return within(bytes, start + 2 + length, length <= max && (length > 0 || zeroAllowed))
  if (head !== 0xc5) return no
  length = (length << 8) | bytes[start + 2]!
  return within(bytes, start + 3 + length, length >= 0x100 && length <= max)
}

function text(max: number, bytes: Uint8Array, start: number, zeroAllowed: boolean, mustBeUtf8: boolean): number {
  const head = bytes[start]!
  let position = start + 1
  let length = head & 0x1f
  if ((head & 0xe0) !== 0xa0) {
    // No text of a transaction is longer than a str8 holds.
    if (head !== 0xd9) return no
    length = bytes[start + 1]!
    if (!(length >= 32)) return no
    position = start + 2
  }
  const end = within(bytes, position + length, length <= max && (length > 0 || zeroAllowed))
  if (!mustBeUtf8 || end === no) return end
  while (position < end && bytes[position]! < 0x80) position++
  return position === end || isUtf8(bytes.subarray(position, end)) ? end : no
}

function list(kind: List, bytes: Uint8Array, start: number, zeroAllowed: boolean): number {
  const head = bytes[start]!
  let position = start + 1
  let count = head & 0x0f
  if ((head & 0xf0) !== 0x90) {
    if (head !== 0xdc) return no
    count = (bytes[start + 1]! << 8) | bytes[start + 2]!
    if (!(count >= 16)) return no
    position = start + 3
  }
  if (count > kind.max || (count === 0 && !zeroAllowed)) return no
  let total = 0
  for (; count > 0; count--) {
    const end = value(kind.of, bytes, position, true)
    if (end === no) return no
    if (kind.of.kind === 'bytes') total += end - position - (bytes[position] === 0xc4 ? 2 : 3)
    position = end
  }
  return total <= kind.maxTotal ? position : no
}

function uintMap(kind: UintMap, bytes: Uint8Array, start: number, zeroAllowed: boolean): number {
  const head = bytes[start]!
  let position = start + 1
  let count = head & 0x0f
  if ((head & 0xf0) !== 0x80) {
    if (head !== 0xde) return no
    count = (bytes[start + 1]! << 8) | bytes[start + 2]!
    if (!(count >= 16)) return no
    position = start + 3
  }
  if (count > kind.max || (count === 0 && !zeroAllowed)) return no
  let previous = no
  for (; count > 0; count--) {
    const end = uint(64, bytes, position, true)
    if (end === no || (previous !== no && !ascends(bytes, previous, position, end))) return no
    previous = position
    position = value(kind.of, bytes, end, true)
    if (position === no) return no
  }
  return position
}

/**
 * Whether the shortest-form integer at `position` (up to `end`) is larger than the one at `previous`. A longer form has
 * a larger first byte and holds larger values, so comparing bytes in order compares the numbers.
 */
function ascends(bytes: Uint8Array, previous: number, position: number, end: number): boolean {
  for (let offset = 0; position + offset < end; offset++) {
    const difference = bytes[position + offset]! - bytes[previous + offset]!
    if (difference !== 0) return difference > 0
  }
  return false
}

function within(bytes: Uint8Array, end: number, condition: boolean): number {
  return condition && end <= bytes.length ? end : no
}

type Signed = { readonly txn: object }

/**
 * A signed transaction with its canonical bytes and its id, so that nothing is encoded again after it was decoded. The
 * bytes belong to the values: neither may be changed.
 */
export class DecodedTransaction<S extends Signed> {
  /** The transaction and its authorization. */
  readonly signed: S
  /** The canonical encoding. A view of the input if that is canonical. */
  readonly bytes: Uint8Array
  /** The canonical encoding of the transaction alone, which is hashed and signed. */
  readonly transactionBytes: Uint8Array
  /** The position after the transaction in the input. */
  readonly end: number
  #digest: Uint8Array | undefined
  #id: string | undefined

  /** @internal */
  constructor(signed: S, bytes: Uint8Array, transactionBytes: Uint8Array, end: number) {
    this.signed = signed
    this.bytes = bytes
    this.transactionBytes = transactionBytes
    this.end = end
  }

  /** The 32 bytes of the id. */
  get digest(): Uint8Array {
    this.#digest ??= Hash.hash(Hash.domains.transaction, this.transactionBytes)
    return this.#digest
  }

  /** The id as explorers and nodes show it. */
  get id(): string {
    this.#id ??= Bytes.toBase32(this.digest)
    return this.#id
  }
}

/** The schema of a signed transaction, with the place where its member `txn` is marked. */
export type Form = {
  readonly schema: Struct
  readonly txn: Kind
  readonly txnIndex: number
  readonly marks: Uint32Array
}

export function formOf(schema: Struct): Form {
  const { of, index } = schema.byName.get('txn')!
  // Everything but the names of other members precedes the transaction, so that its bytes end with those of the whole.
  if (index !== schema.fields.length - 1) throw new RangeError('txn is the last member of a signed transaction')
  return { schema, txn: of, txnIndex: index, marks: new Uint32Array(schema.fields.length) }
}

/** Returns undefined for a value that is zero. */
export function decode<S extends Signed>(form: Form, reader: Reader): DecodedTransaction<S> | undefined {
  const start = reader.position
  const signed = Codec.decode(form.schema, reader) as S | undefined
  if (signed === undefined) return undefined
  const { bytes, position: end } = reader
  const { marks, txnIndex } = form
  // Sharing the marks between calls is safe because everything here is synchronous.
  marks[txnIndex] = 0
  if (struct(form.schema, bytes, start, false, marks) !== end) return encode(form, signed, end)
  const txnStart = marks[txnIndex]!
  const transactionBytes = txnStart === 0 ? emptyMap : bytes.subarray(txnStart, end)
  return new DecodedTransaction(signed, bytes.subarray(start, end), transactionBytes, end)
}

const emptyMap = Uint8Array.of(0x80)

/** Encodes a value that was not decoded from its canonical form. */
export function encode<S extends Signed>({ schema, txn }: Form, signed: S, end: number): DecodedTransaction<S> {
  return new DecodedTransaction(signed, Codec.encode(schema, signed), Codec.encode(txn, signed.txn), end)
}
