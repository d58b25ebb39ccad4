import * as Decode from './internal/Decode.js'
import * as Encode from './internal/Encode.js'
import * as Json from './internal/Json.js'
import type { ValueOf } from './internal/Schema.js'
import { submitted as schema } from './internal/SignatureSchema.js'
import { submittedTransaction as transactionSchema } from './internal/TransactionSchema.js'
import { DecodeError, Reader, Writer } from './Msgpack.js'
import type { Transaction } from './Transaction.js'

// Transactions as a node reads them. A signer refuses early; a node reads also what has no sender, no type, too long a
// note or an unfinished multisig, since its clients expect to be told by the ledger's own rules what is wrong.

export { DecodeError, EncodeError } from './Msgpack.js'

/**
 * A signed transaction that nobody has judged yet. Where they were missing, `type` is '' and `snd` 32 zero bytes, `v`
 * and `thr` of a multisig are 0 and its `subsig` is empty.
 */
export type Submitted = ValueOf<typeof schema>

/** A signature by a scheme that resists quantum computers: its name, salt, public key and signature. */
export type PostQuantumSignature = NonNullable<Submitted['pqsig']>

export type JsonValue = Json.JsonValue
export type JsonObject = Json.JsonObject

export type Decoded = {
  signed: Submitted
  /** Where the next one begins. */
  end: number
}

/**
 * Those that follow each other without separators. At most `maxCount + 1` of them are read: enough to tell that there
 * are too many.
 */
export function decodeAll(bytes: Uint8Array, maxCount: number): Submitted[] {
  const all: Submitted[] = []
  const reader = new Reader(bytes)
  while (reader.remaining > 0 && all.length <= maxCount) all.push(next(reader))
  return all
}

/** The one that begins at `position`. */
export function decodeFirst(bytes: Uint8Array, position = 0): Decoded {
  const reader = new Reader(bytes, position)
  return { signed: next(reader), end: reader.position }
}

/** The canonical form. */
export function encode(signed: Submitted): Uint8Array {
  const writer = new Writer()
  Encode.encode(schema, signed, writer)
  return writer.bytes()
}

/**
 * The canonical form of the transaction alone: what its id and its signatures are made of. Unlike `Transaction.encode`
 * it writes everything that was read here, since a refusal names the id as well.
 */
export function transactionBytes(transaction: Transaction): Uint8Array {
  const writer = new Writer()
  Encode.encode(transactionSchema, transaction, writer)
  return writer.bytes()
}

/**
 * The JSON form that nodes give: addresses as text, other bytes in base64, 64-bit integers as bigints, nothing that is
 * zero. Names of assets that are not UTF-8 get replacement characters; only for those is the way back not exact.
 */
export function toJson(signed: Submitted): JsonObject {
  return Json.writeStruct(schema, signed)
}

/** Reads the JSON form. Integers may be numbers or bigints; null is the same as absent. */
export function fromJson(value: unknown): Submitted {
  if (typeof value !== 'object' || value === null) throw new DecodeError('expected an object')
  return (Json.read(schema, value) ?? Decode.zeroOf(schema)) as Submitted
}

function next(reader: Reader): Submitted {
  try {
    return (Decode.decode(schema, reader) ?? Decode.zeroOf(schema)) as Submitted
  } catch (error) {
    if (error instanceof DecodeError) error.position = reader.position
    throw error
  }
}
