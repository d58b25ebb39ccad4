/** Signed transactions in the form that is sent to a node. */
import * as Ed25519 from './Ed25519.js'
import * as Bytes from './internal/Bytes.js'
import * as CanonicalForm from './internal/CanonicalForm.js'
import * as Codec from './internal/Codec.js'
import type { ValueOf } from './internal/Schema.js'
import { signedTransaction as schema } from './internal/SignatureSchema.js'
import { DecodeError, Reader } from './Msgpack.js'

export { DecodeError, EncodeError } from './Msgpack.js'

/** A transaction and its authorization: `sig`, `msig` or `lsig`. `sgnr` is the signer if it is not the sender. */
export type SignedTransaction = ValueOf<typeof schema>

/** A program, its arguments, and the signature that delegates an account to it, if any. */
export type LogicSignature = NonNullable<SignedTransaction['lsig']>

/**
 * The canonical encoding.
 *
 * @throws EncodeError
 */
export function encode(signed: SignedTransaction): Uint8Array {
  return Codec.encode(schema, signed)
}

/** The result of {@link decodeFirst}: the values, their canonical bytes, the id, and where the next one begins. */
export type Decoded = CanonicalForm.DecodedTransaction<SignedTransaction>

const form = /* @__PURE__ */ CanonicalForm.formOf(schema)

/**
 * Reads one signed transaction. Bytes after it are ignored.
 *
 * @throws DecodeError
 */
export function decode(bytes: Uint8Array): SignedTransaction {
  return required(Codec.decode(schema, new Reader(bytes))) as SignedTransaction
}

/**
 * Reads the first of several transactions that are concatenated without separators.
 *
 * @throws DecodeError
 */
export function decodeFirst(bytes: Uint8Array): Decoded {
  return required(CanonicalForm.decode<SignedTransaction>(form, new Reader(bytes)))
}

function required<T>(decoded: T | undefined): T {
  if (decoded === undefined) throw new DecodeError('no signed transaction')
  return decoded
}

const beforeSigner = Uint8Array.of(0x83, 0xa4, 0x73, 0x67, 0x6e, 0x72, 0xc4, 32) // map of 3, "sgnr", bin of 32
const afterSigner = Uint8Array.of(0xa3, 0x73, 0x69, 0x67, 0xc4, 64) // "sig", bin of 64
const beforeSignature = Uint8Array.of(0x82, ...afterSigner) // map of 2
const beforeTransaction = Uint8Array.of(0xa3, 0x74, 0x78, 0x6e) // "txn"

/**
 * Builds the signed transaction around canonical transaction bytes, which are copied and not parsed.
 *
 * @throws Ed25519Error with the code `invalid_key_length` for a signature or public key of a wrong length.
 */
export function attach(
  canonicalBytes: Uint8Array,
  sender: Uint8Array,
  signature: Uint8Array,
  signerPublicKey: Uint8Array,
): Uint8Array {
  if (signature.length !== 64) throw new Ed25519.Ed25519Error(`a signature has 64 bytes, not ${signature.length}`)
  if (signerPublicKey.length !== 32) {
    throw new Ed25519.Ed25519Error(`a public key has 32 bytes, not ${signerPublicKey.length}`)
  }
  if (Bytes.equal(sender, signerPublicKey)) {
    return Bytes.concat([beforeSignature, signature, beforeTransaction, canonicalBytes])
  }
  return Bytes.concat([beforeSigner, signerPublicKey, afterSigner, signature, beforeTransaction, canonicalBytes])
}
