/**
 * Post-quantum signatures. The account of a key is a hash of the scheme, a salt and the key, so the signature contains
 * all of them. The salt is the lowest one for which the hash is not a key of Ed25519.
 */
import { Bytes, Hash, type Submission } from '@latchkey/algorand'
import * as MapKey from './MapKey.js'
import * as avm from './programs/avm.js'

type Signature = Submission.PostQuantumSignature

const addressPrefix = Bytes.fromUtf8('PQA')
const programPrefix = Bytes.fromUtf8('PQProgram')
const falcon = MapKey.of(Bytes.fromUtf8('f1'))
const keyBytes = 1793

/** Returns why a signature cannot be of an account, or undefined. */
export function problemOf({ sch, slt = 0, pk }: Signature, authorizer: MapKey.MapKey): string | undefined {
  if (sch === undefined || MapKey.of(sch) !== falcon) return 'PQSig has an unknown scheme'
  if (pk?.length !== keyBytes) return `PQSig has a public key of ${pk?.length ?? 0} bytes instead of ${keyBytes}`
  for (let salt = 0; salt < slt; salt++) {
    if (!avm.get().isCurvePoint(addressOf(sch, salt, pk))) return 'PQSig has a salt that is not the lowest one'
  }
  const address = addressOf(sch, slt, pk)
  if (avm.get().isCurvePoint(address)) return 'PQSig has an address that could be a key of Ed25519'
  if (MapKey.of(address) === authorizer) return undefined
  return `PQSig is of ${MapKey.address(MapKey.of(address))} instead of ${MapKey.address(authorizer)}`
}

function addressOf(scheme: Uint8Array, salt: number, key: Uint8Array): Uint8Array {
  return Hash.sha512_256(Bytes.concat([addressPrefix, scheme, Uint8Array.of(salt), key]))
}

/** Whether the signature of a message is valid. */
export function verify({ pk, sig }: Signature, message: Uint8Array): boolean {
  return pk?.length === keyBytes && sig !== undefined && avm.get().verifyFalcon(message, sig, pk)
}

/** The bytes that an account signs to delegate itself to a program. */
export function programBytes(account: MapKey.MapKey, program: Uint8Array): Uint8Array {
  return Bytes.concat([programPrefix, MapKey.bytes(account), program])
}
