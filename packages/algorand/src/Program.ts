/** Logic programs: the bytes signed for them, and their accounts. */
import * as Ed25519 from './Ed25519.js'
import * as Hash from './Hash.js'

/**
 * Returns the bytes that a key signs to delegate its account to a program. Members of a multisig also signed these
 * before {@link multisigBytesToSign} existed.
 */
export function bytesToSign(program: Uint8Array): Uint8Array {
  return Hash.prefixed(Hash.domains.program, program)
}

/**
 * Returns the bytes that a member of a multisig signs. The address binds the signature to this one multisig.
 *
 * @throws Ed25519Error with the code `invalid_key_length` for an address that does not have 32 bytes.
 */
export function multisigBytesToSign(address: Uint8Array, program: Uint8Array): Uint8Array {
  if (address.length !== 32) throw new Ed25519.Ed25519Error(`an address has 32 bytes, not ${address.length}`)
  return Hash.prefixed(Hash.domains.multisigProgram, address, program)
}

/** Returns the account that only the program controls, as 32 bytes. */
export function address(program: Uint8Array): Uint8Array {
  return Hash.hash(Hash.domains.program, program)
}
