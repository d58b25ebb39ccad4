import * as Hash from '../Hash.js'
import { type Reader, Writer } from '../Msgpack.js'
import * as Bytes from './Bytes.js'
import * as CanonicalForm from './CanonicalForm.js'
import * as Decode from './Decode.js'
import * as Encode from './Encode.js'
import type { Kind, Struct } from './Schema.js'

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
    this.#id ??= Bytes.encodeBase32(this.digest)
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
  const signed = Decode.decode(form.schema, reader) as S | undefined
  if (signed === undefined) return undefined
  const { bytes, position: end } = reader
  const { marks, txnIndex } = form
  // Sharing the marks between calls is safe because everything here is synchronous.
  marks[txnIndex] = 0
  if (CanonicalForm.struct(form.schema, bytes, start, false, marks) !== end) return encode(form, signed, end)
  const txnStart = marks[txnIndex]!
  const transactionBytes = txnStart === 0 ? emptyMap : bytes.subarray(txnStart, end)
  return new DecodedTransaction(signed, bytes.subarray(start, end), transactionBytes, end)
}

const emptyMap = Uint8Array.of(0x80)

/** Encodes a value that was not decoded from its canonical form. */
export function encode<S extends Signed>({ schema, txn }: Form, signed: S, end: number): DecodedTransaction<S> {
  return new DecodedTransaction(signed, encoded(schema, signed), encoded(txn, signed.txn), end)
}

function encoded(kind: Kind, value: unknown): Uint8Array {
  const writer = new Writer()
  Encode.encode(kind, value, writer)
  return writer.bytes()
}
