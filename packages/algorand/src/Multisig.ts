/** Multisig accounts: their addresses and the signatures of their members. */
import * as Ed25519 from './Ed25519.js'
import { errors } from './errors.js'
import * as Hash from './Hash.js'
import * as Bytes from './internal/Bytes.js'
import * as Codec from './internal/Codec.js'
import type { ValueOf } from './internal/Schema.js'
import { multisig as schema } from './internal/SignatureSchema.js'
import { LatchkeyError } from './LatchkeyError.js'
import { DecodeError, Reader } from './Msgpack.js'

/** The preimage of a multisig address. The order of the keys matters, and a key may occur more than once. */
export type Multisig = { version: number; threshold: number; publicKeys: readonly Uint8Array[] }

/** Signatures of some members, with a slot for every member. Uses the names of the wire format. */
export type Signature = ValueOf<typeof schema>

/** The slot of one member: its public key, and its signature once it has signed. */
export type Subsignature = Signature['subsig'][number]

const supportedVersion = 1

/**
 * The 32 bytes of the address.
 *
 * @throws MultisigError with the code `multisig_unknown_version`, `multisig_invalid_threshold` or
 * `multisig_invalid_key`.
 */
export function address(multisig: Multisig): Uint8Array {
  const { version, threshold, publicKeys } = multisig
  if (version !== supportedVersion) throw new MultisigError('multisig_unknown_version', 'unknown version')
  const inRange = Number.isInteger(threshold) && threshold >= 1 && threshold <= 255 && threshold <= publicKeys.length
  if (!inRange) throw new MultisigError('multisig_invalid_threshold', 'Invalid threshold')
  for (const key of publicKeys) {
    if (key.length !== Ed25519.publicKeyLength) {
      throw new MultisigError('multisig_invalid_key', 'a public key has 32 bytes')
    }
  }
  return Hash.hash(Hash.domains.multisigAddress, Uint8Array.of(version, threshold), ...publicKeys)
}

/** Returns the multisig of a signature. */
export function preimage(signature: Signature): Multisig {
  return { version: signature.v, threshold: signature.thr, publicKeys: signature.subsig.map((slot) => slot.pk) }
}

/** Returns a signature with an unsigned slot for every member. */
export function empty(multisig: Multisig): Signature {
  return {
    v: multisig.version,
    thr: multisig.threshold,
    subsig: multisig.publicKeys.map((pk) => ({ pk })),
  }
}

/**
 * Fills every slot of the member. Other members' signatures are copied without verification.
 *
 * @throws MultisigError with the code `multisig_key_missing`, `multisig_duplicate` or `multisig_invalid_key`.
 */
export function addSignature(signature: Signature, publicKey: Uint8Array, memberSignature: Uint8Array): Signature {
  if (memberSignature.length !== Ed25519.signatureLength) {
    throw new MultisigError('multisig_invalid_key', 'a signature has 64 bytes')
  }
  let isMember = false
  const subsig = signature.subsig.map((slot) => {
    if (!Bytes.equal(slot.pk, publicKey)) return slot
    isMember = true
    return combine(slot, { pk: slot.pk, s: memberSignature })
  })
  if (!isMember) throw new MultisigError('multisig_key_missing', 'Key does not exist')
  return { v: signature.v, thr: signature.thr, subsig }
}

/**
 * Merges at least two partial signatures of the same multisig.
 *
 * @throws MultisigError with the code `multisig_too_few`, `multisig_mismatch` or `multisig_duplicate`.
 */
export function merge(signatures: readonly Signature[]): Signature {
  const [first, ...others] = signatures
  if (first === undefined || others.length === 0) {
    throw new MultisigError('multisig_too_few', 'merging requires at least two signatures')
  }
  const slots = [...first.subsig]
  for (const other of others) {
    if (other.v !== first.v) throw new MultisigError('multisig_mismatch', 'Versions do not match')
    if (other.thr !== first.thr) throw new MultisigError('multisig_mismatch', 'Thresholds do not match')
    if (other.subsig.length !== slots.length) throw keysDiffer()
    for (const [index, slot] of other.subsig.entries()) {
      if (!Bytes.equal(slots[index]!.pk, slot.pk)) throw keysDiffer()
      slots[index] = combine(slots[index]!, slot)
    }
  }
  return { v: first.v, thr: first.thr, subsig: slots }
}

/** Whether enough slots are signed, and all of their signatures are valid. */
export function verify(signature: Signature, message: Uint8Array): boolean {
  const { v, thr, subsig } = signature
  if (v !== supportedVersion || thr < 1 || thr > subsig.length) return false
  let signed = 0
  for (const slot of subsig) {
    if (!isSigned(slot)) continue
    if (!Ed25519.verify(slot.s, message, slot.pk)) return false
    signed++
  }
  return signed >= thr
}

/**
 * The msgpack form.
 *
 * @throws EncodeError
 */
export function encode(signature: Signature): Uint8Array {
  return Codec.encode(schema, signature)
}

/**
 * Reads the msgpack form.
 *
 * @throws DecodeError
 */
export function decode(bytes: Uint8Array): Signature {
  const value = Codec.decode(schema, new Reader(bytes))
  if (value === undefined) throw new DecodeError('no multisig signature')
  return value as Signature
}

function combine(slot: Subsignature, added: Subsignature): Subsignature {
  if (!isSigned(added)) return slot
  if (isSigned(slot) && !Bytes.equal(slot.s, added.s))
    throw new MultisigError('multisig_duplicate', 'Invalid duplicates')
  return added
}

function isSigned(slot: Subsignature): slot is { pk: Uint8Array; s: Uint8Array } {
  return slot.s !== undefined && !Bytes.isZero(slot.s)
}

function keysDiffer(): MultisigError {
  return new MultisigError('multisig_mismatch', 'Public key lists do not match')
}

type MultisigErrorCode = Extract<keyof typeof errors, `multisig_${string}`>

/** The multisig is invalid, or signatures do not match. Messages are the Go daemon's if it has one. */
export class MultisigError extends LatchkeyError<MultisigErrorCode> {
  override name = 'MultisigError'

  constructor(code: MultisigErrorCode, message: string) {
    super(code, message, { hint: errors[code].hint })
  }
}
