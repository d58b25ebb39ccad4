/** Signed transactions as a node reads them, and their JSON form. */
import * as CanonicalForm from './internal/CanonicalForm.js'
import * as Decode from './internal/Decode.js'
import * as DecodedTransaction from './internal/DecodedTransaction.js'
import * as Encode from './internal/Encode.js'
import * as Json from './internal/Json.js'
import type { ValueOf } from './internal/Schema.js'
import { submitted as schema } from './internal/SignatureSchema.js'
import { submittedTransaction as transactionSchema } from './internal/TransactionSchema.js'
import { DecodeError, Reader, Writer } from './Msgpack.js'
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
export type JsonValue = Json.JsonValue
/** An object of the JSON form. */
export type JsonObject = Json.JsonObject

/** A decoded signed transaction: the values, their canonical bytes, the id, and where the next one begins. */
export type Decoded = DecodedTransaction.DecodedTransaction<Submitted>

const form = /* @__PURE__ */ DecodedTransaction.formOf(schema)

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
  return DecodedTransaction.encode(form, signed, 0)
}

/**
 * The canonical encoding.
 *
 * @throws EncodeError
 */
export function encode(signed: Submitted): Uint8Array {
  const writer = new Writer()
  Encode.encode(schema, signed, writer)
  return writer.bytes()
}

/**
 * The canonical encoding of the transaction alone, from which its id and signatures are computed. Unlike
 * `Transaction.encode` it writes everything that {@link decodeFirst} reads, because rejections contain the id too.
 *
 * @throws EncodeError
 */
export function transactionBytes(transaction: Transaction): Uint8Array {
  const writer = new Writer()
  Encode.encode(transactionSchema, transaction, writer)
  return writer.bytes()
}

/**
 * Returns the JSON form of nodes: addresses as text, other bytes in base64, 64-bit integers as bigints, zero values
 * omitted. Asset names that are not UTF-8 get replacement characters, and only those cannot be read back exactly.
 */
export function toJson(signed: Submitted): JsonObject {
  return Json.writeStruct(schema, signed)
}

/**
 * Reads the JSON form. Integers may be numbers or bigints; null is the same as absent.
 *
 * @throws DecodeError
 */
export function fromJson(value: unknown): Submitted {
  if (typeof value !== 'object' || value === null) throw new DecodeError('expected an object')
  return (Json.read(schema, value) ?? Decode.zeroOf(schema)) as Submitted
}

function next(reader: Reader): Decoded {
  try {
    const decoded = DecodedTransaction.decode<Submitted>(form, reader)
    return decoded ?? DecodedTransaction.encode(form, Decode.zeroOf(schema) as Submitted, reader.position)
  } catch (error) {
    if (error instanceof DecodeError) error.position = reader.position
    throw error
  }
}
