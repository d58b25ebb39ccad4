/**
 * Signatures by the rule of nodes. They multiply the equation by the cofactor, so they accept some signatures of keys
 * with a component of small order that libsodium refuses. Everything that libsodium accepts is valid for nodes too, and
 * it is much faster, so the other check is made only for what libsodium refuses.
 */
import { Bytes, Ed25519, Multisig } from '@latchkey/algorand'
import * as MapKey from './MapKey.js'
import * as avm from './programs/avm.js'

export function verify(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  return Ed25519.verify(signature, message, publicKey) || avm.get().verifyEd25519(message, signature, publicKey)
}

/** Whether all signatures of a multisig signature are valid, of which there are enough. */
export function verifyMultisig(multisig: Multisig.Signature, message: Uint8Array): boolean {
  if (Multisig.verify(multisig, message)) return true
  const signed = multisig.subsig.filter(({ s }) => s !== undefined)
  return signed.length >= multisig.thr && signed.every(({ pk, s }) => verify(s!, message, pk))
}

/** Returns why nodes refuse the form of a multisig signature, whose signatures are verified separately. */
export function multisigReason(msig: Multisig.Signature, authorizer: MapKey.MapKey): string | undefined {
  const [first] = msig.subsig
  if (first === undefined || isBlank(first)) return 'Invalid number of signatures'
  if (msig.v !== 1) return 'unknown version'
  if (msig.thr < 1 || msig.thr > msig.subsig.length) return 'Invalid threshold'
  if (MapKey.of(Multisig.address(Multisig.preimage(msig))) !== authorizer) return 'Invalid address'
  const signatures = msig.subsig.filter(({ s }) => s !== undefined).length
  return signatures < msig.thr ? 'Invalid number of signatures' : undefined
}

/** Nodes treat a first member without key and signature as the end of the list. */
function isBlank({ pk, s }: Multisig.Subsignature): boolean {
  return Bytes.isZero(pk) && s === undefined
}
