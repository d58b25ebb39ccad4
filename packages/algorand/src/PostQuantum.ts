/**
 * The entry `@latchkey/algorand/post-quantum`: accounts of Falcon-1024 keys, and their signatures. The address of an
 * account is a hash of the scheme, a salt and the key, so a signature contains all of them.
 *
 * The ledger accepts every salt. Nodes refuse to submit a transaction of an address that is a point of the curve of
 * Ed25519, unless the client waives that check: a quantum computer could find the Ed25519 key of such an address.
 */
import { Point } from '@noble/ed25519'
import * as Hash from './Hash.js'
import * as Bytes from './internal/Bytes.js'
import * as Falcon from './internal/Falcon.js'
import type { PostQuantumSignature } from './Submission.js'

export type { Failure } from './internal/Falcon.js'

/** The bytes of a Falcon-1024 public key. */
export const publicKeyBytes = Falcon.keyBytes

const addressPrefix = /* @__PURE__ */ Bytes.fromUtf8('PQA')
const programPrefix = /* @__PURE__ */ Bytes.fromUtf8('PQProgram')
const schemeBytes = 2
const falcon = 'f1'

/** Whether a signature is of a supported scheme, of which there is one: Falcon-1024, `f1`. */
export function isSupported({ sch }: PostQuantumSignature): boolean {
  return sch !== undefined && Bytes.toUtf8(sch) === falcon
}

/** The address of the account whose key signed. Members that are missing count as zero or empty. */
export function address({ sch, slt = 0, pk }: PostQuantumSignature): Uint8Array {
  const scheme = sch ?? new Uint8Array(schemeBytes)
  return Hash.sha512_256(Bytes.concat([addressPrefix, scheme, Uint8Array.of(slt), pk ?? new Uint8Array(0)]))
}

/** The bytes that an account signs to delegate itself to a program. */
export function programBytes(account: Uint8Array, program: Uint8Array): Uint8Array {
  return Bytes.concat([programPrefix, account, program])
}

/**
 * Verifies a deterministic, compressed signature of Falcon-1024. Returns undefined if it is valid.
 *
 * @param publicKey a key of {@link publicKeyBytes}
 */
export function check(message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): Falcon.Failure | undefined {
  return Falcon.check(publicKey, signature, message)
}

/** Whether the signature of a message is valid and of a supported scheme. Says nothing of the account. */
export function verify({ pk, sig, ...rest }: PostQuantumSignature, message: Uint8Array): boolean {
  if (!isSupported(rest) || pk?.length !== publicKeyBytes || sig === undefined) return false
  return Falcon.check(pk, sig, message) === undefined
}

/** Whether 32 bytes are a point of the curve of Ed25519, in a canonical encoding or another one. */
export function isCurvePoint(bytes: Uint8Array): boolean {
  try {
    Point.fromBytes(bytes, true)
    return true
  } catch {
    return false
  }
}
