/** Ed25519 keys and signatures (RFC 8032), verified as strictly as libsodium does on every platform. */
import * as platform from '#platform'
import { errors } from './errors.js'
import { LatchkeyError } from './LatchkeyError.js'

/** The length of a seed in bytes. */
export const seedLength = 32
/** The length of a public key in bytes. */
export const publicKeyLength = 32
/** The length of a secret key in bytes: the seed, then the public key. */
export const secretKeyLength = 64
/** The length of a signature in bytes. */
export const signatureLength = 64

/** A public key and its secret key. */
export type KeyPair = { publicKey: Uint8Array; secretKey: Uint8Array }

/**
 * Returns the key pair of a seed.
 *
 * @param secretKeyOut 64 bytes that receive the secret key, such as memory of sodium_malloc.
 * @default secretKeyOut new memory on the heap
 * @throws Ed25519Error with the code `invalid_key_length`.
 */
export function keyPairFromSeed(seed: Uint8Array, secretKeyOut?: Uint8Array): KeyPair {
  expectLength('seed', seed, seedLength)
  const secretKey = secretKeyOut ?? new Uint8Array(secretKeyLength)
  expectLength('secret key', secretKey, secretKeyLength)
  const publicKey = new Uint8Array(publicKeyLength)
  platform.writeKeyPair(publicKey, secretKey, seed)
  return { publicKey, secretKey }
}

/**
 * The public key of a seed.
 *
 * @throws Ed25519Error with the code `invalid_key_length`.
 */
export function publicKey(seed: Uint8Array): Uint8Array {
  const pair = keyPairFromSeed(seed)
  platform.wipe(pair.secretKey)
  return pair.publicKey
}

/**
 * Signs a message with a secret key that {@link keyPairFromSeed} returned.
 *
 * @throws Ed25519Error with the code `invalid_key_length`.
 */
export function sign(message: Uint8Array, secretKey: Uint8Array): Uint8Array {
  expectLength('secret key', secretKey, secretKeyLength)
  const signature = new Uint8Array(signatureLength)
  platform.sign(signature, message, secretKey)
  return signature
}

/**
 * Whether the signature is valid. Never throws: signatures and keys come from outside, so one of a wrong length is
 * invalid. Non-canonical encodings and points of small order are invalid too.
 */
export function verify(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== signatureLength || publicKey.length !== publicKeyLength) return false
  return platform.verify(signature, message, publicKey)
}

function expectLength(what: string, bytes: Uint8Array, length: number): void {
  if (bytes.length !== length) throw new Ed25519Error(`a ${what} has ${length} bytes, not ${bytes.length}`)
}

/** A key, seed or signature has the wrong length. */
export class Ed25519Error extends LatchkeyError<'invalid_key_length'> {
  override name = 'Ed25519Error'

  constructor(message: string) {
    super('invalid_key_length', message, { hint: errors.invalid_key_length.hint })
  }
}
