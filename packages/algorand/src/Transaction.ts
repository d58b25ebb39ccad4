/** Transactions: their canonical encoding and their ids. */
import * as Hash from './Hash.js'
import * as Bytes from './internal/Bytes.js'
import * as CanonicalForm from './internal/CanonicalForm.js'
import * as Codec from './internal/Codec.js'
import type { ValueOf } from './internal/Schema.js'
import { transaction as schema } from './internal/TransactionSchema.js'
import { DecodeError, Reader, Writer } from './Msgpack.js'

export { DecodeError, EncodeError } from './Msgpack.js'

/**
 * A transaction with the field names of the wire format. 64-bit integers are bigints, narrower ones numbers, byte
 * strings Uint8Arrays. A field that is zero, empty or false is the same as an absent one; decoding omits it.
 */
export type Transaction = ValueOf<typeof schema>

/** The result of {@link canonicalize}. */
export type Canonical = {
  /** The canonical encoding. */
  bytes: Uint8Array
  /** The sender's 32 bytes, possibly a view of `bytes`. */
  sender: Uint8Array
}

/**
 * Reads a transaction in any form that common encoders produce. Bytes after it are ignored.
 *
 * @throws DecodeError for unknown fields, values out of bounds, and a missing type or sender.
 */
export function decode(bytes: Uint8Array): Transaction {
  const value = Codec.decode(schema, new Reader(bytes))
  if (value === undefined) throw new DecodeError('no transaction')
  return value as Transaction
}

/**
 * Returns the canonical encoding, which is signed and hashed: keys in order, zero values omitted, everything in
 * shortest form.
 *
 * @throws EncodeError
 */
export function encode(transaction: Transaction): Uint8Array {
  return Codec.encode(schema, transaction)
}

const senderIndex = schema.byName.get('snd')!.index
const marks = new Uint32Array(schema.fields.length)

/**
 * Returns the canonical form of an encoded transaction. The result equals decoding and encoding, but a transaction that
 * is already canonical, as nearly all are, is recognized in one pass and returned without a copy.
 *
 * @throws DecodeError
 */
export function canonicalize(bytes: Uint8Array): Canonical {
  // Sharing the marks between calls is safe because everything here is synchronous.
  const end = CanonicalForm.struct(schema, bytes, 0, false, marks)
  if (end === CanonicalForm.no) {
    const transaction = decode(bytes)
    return { bytes: encode(transaction), sender: transaction.snd }
  }
  const start = marks[senderIndex]! + 2
  return { bytes: end === bytes.length ? bytes : bytes.subarray(0, end), sender: bytes.subarray(start, start + 32) }
}

/**
 * Returns the canonical encoding without the named fields, which need not be present. The input must be canonical; its
 * other values are copied and not parsed.
 *
 * @throws DecodeError
 */
export function withoutFields(canonicalBytes: Uint8Array, names: readonly (keyof Transaction)[]): Uint8Array {
  marks.fill(0)
  if (CanonicalForm.struct(schema, canonicalBytes, 0, false, marks) !== canonicalBytes.length) throw notCanonical()
  const fields = names.map((name) => schema.byName.get(name)!).filter(({ index }) => marks[index] !== 0)
  const { count, start } = header(canonicalBytes)
  const writer = new Writer().mapHeader(count - fields.length)
  let position = start
  for (const { index, key, of } of fields.sort((a, b) => a.index - b.index)) {
    const valueStart = marks[index]!
    writer.raw(canonicalBytes.subarray(position, valueStart - key.length))
    position = CanonicalForm.value(of, canonicalBytes, valueStart, false)
  }
  return writer.raw(canonicalBytes.subarray(position)).bytes()
}

/** The number of fields, and where the first one begins. A transaction has fewer fields than a map16 holds. */
function header([head, high, low]: Uint8Array): { count: number; start: number } {
  return head === 0xde ? { count: (high! << 8) | low!, start: 3 } : { count: head! & 0x0f, start: 1 }
}

function notCanonical(): DecodeError {
  return new DecodeError('the transaction is not in canonical form')
}

/** Returns the bytes that a key signs. The input must be canonical. */
export function bytesToSign(canonicalBytes: Uint8Array): Uint8Array {
  return Hash.prefixed(Hash.domains.transaction, canonicalBytes)
}

/**
 * Returns the 32 bytes of the id. Bytes must be canonical.
 *
 * @throws EncodeError for a transaction that cannot be encoded.
 */
export function digest(transaction: Transaction | Uint8Array): Uint8Array {
  const bytes = transaction instanceof Uint8Array ? transaction : encode(transaction)
  return Hash.hash(Hash.domains.transaction, bytes)
}

/**
 * Returns the id as explorers and nodes show it: 52 characters. Bytes must be canonical.
 *
 * @throws EncodeError for a transaction that cannot be encoded.
 */
export function id(transaction: Transaction | Uint8Array): string {
  return Bytes.toBase32(digest(transaction))
}

/** Encodes the 32 bytes of {@link digest} as the displayed id. */
export function encodeId(digestBytes: Uint8Array): string {
  return Bytes.toBase32(digestBytes)
}
