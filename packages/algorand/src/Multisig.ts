import * as Ed25519 from './Ed25519.js'
import * as Hash from './Hash.js'
import * as Bytes from './internal/Bytes.js'
import * as Decode from './internal/Decode.js'
import * as Encode from './internal/Encode.js'
import type { ValueOf } from './internal/Schema.js'
import { multisig as schema } from './internal/SignatureSchema.js'
import { DecodeError, Reader, Writer } from './Msgpack.js'

/** What a multisig address is the hash of. The order of the keys counts, and a key may occur more than once. */
export type Multisig = { version: number; threshold: number; publicKeys: readonly Uint8Array[] }

/** Signatures of some members, with a slot for every member, by the names on the wire. */
export type Signature = ValueOf<typeof schema>

export type Subsignature = Signature['subsig'][number]

const supportedVersion = 1

/** The 32 bytes of the address. */
export function address(multisig: Multisig): Uint8Array {
  const { version, threshold, publicKeys } = multisig
  if (version !== supportedVersion) throw new MultisigError('unknown version')
  const inRange = Number.isInteger(threshold) && threshold >= 1 && threshold <= 255 && threshold <= publicKeys.length
  if (!inRange) throw new MultisigError('Invalid threshold')
  for (const key of publicKeys) {
    if (key.length !== Ed25519.publicKeyLength) throw new MultisigError('a public key has 32 bytes')
  }
  return Hash.hash(Hash.domains.multisigAddress, Uint8Array.of(version, threshold), ...publicKeys)
}

export function preimage(signature: Signature): Multisig {
  return { version: signature.v, threshold: signature.thr, publicKeys: signature.subsig.map((slot) => slot.pk) }
}

/** A slot for every member and no signature yet. */
export function empty(multisig: Multisig): Signature {
  return {
    v: multisig.version,
    thr: multisig.threshold,
    subsig: multisig.publicKeys.map((pk) => ({ pk })),
  }
}

/** Fills every slot of the member. Other members' signatures are carried over unverified. */
export function addSignature(signature: Signature, publicKey: Uint8Array, memberSignature: Uint8Array): Signature {
  if (memberSignature.length !== Ed25519.signatureLength) throw new MultisigError('a signature has 64 bytes')
  let isMember = false
  const subsig = signature.subsig.map((slot) => {
    if (!Bytes.equal(slot.pk, publicKey)) return slot
    isMember = true
    return combine(slot, { pk: slot.pk, s: memberSignature })
  })
  if (!isMember) throw new MultisigError('Key does not exist')
  return { v: signature.v, thr: signature.thr, subsig }
}

/** One signature out of at least two partial ones of the same multisig. */
export function merge(signatures: readonly Signature[]): Signature {
  const [first, ...others] = signatures
  if (first === undefined || others.length === 0) throw new MultisigError('merging takes at least two signatures')
  const slots = [...first.subsig]
  for (const other of others) {
    if (other.v !== first.v) throw new MultisigError('Versions do not match')
    if (other.thr !== first.thr) throw new MultisigError('Thresholds do not match')
    if (other.subsig.length !== slots.length) throw new MultisigError('Public key lists do not match')
    for (const [index, slot] of other.subsig.entries()) {
      if (!Bytes.equal(slots[index]!.pk, slot.pk)) throw new MultisigError('Public key lists do not match')
      slots[index] = combine(slots[index]!, slot)
    }
  }
  return { v: first.v, thr: first.thr, subsig: slots }
}

/** Whether enough slots are signed, and every signature that is there is right. */
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

export function encode(signature: Signature): Uint8Array {
  const writer = new Writer()
  Encode.encode(schema, signature, writer)
  return writer.bytes()
}

export function decode(bytes: Uint8Array): Signature {
  const value = Decode.decode(schema, new Reader(bytes))
  if (value === undefined) throw new DecodeError('no multisig signature')
  return value as Signature
}

function combine(slot: Subsignature, added: Subsignature): Subsignature {
  if (!isSigned(added)) return slot
  if (isSigned(slot) && !Bytes.equal(slot.s, added.s)) throw new MultisigError('Invalid duplicates')
  return added
}

function isSigned(slot: Subsignature): slot is { pk: Uint8Array; s: Uint8Array } {
  return slot.s !== undefined && !Bytes.isZero(slot.s)
}

export class MultisigError extends Error {
  override name = 'Multisig.MultisigError'
}
