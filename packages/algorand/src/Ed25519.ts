import { sodium } from './internal/sodium.js'

export const seedLength = 32
export const publicKeyLength = 32
export const secretKeyLength = 64
export const signatureLength = 64

export type KeyPair = { publicKey: Uint8Array; secretKey: Uint8Array }

/**
 * The key pair of a seed; the secret key is seed and public key, 64 bytes. Pass `secretKeyOut` to have the secret
 * written straight into memory of your choosing, such as that of sodium_malloc; otherwise it lands on the heap.
 */
export function keyPairFromSeed(seed: Uint8Array, secretKeyOut?: Uint8Array): KeyPair {
  expectLength('seed', seed, seedLength)
  const secretKey = secretKeyOut ?? new Uint8Array(secretKeyLength)
  expectLength('secret key', secretKey, secretKeyLength)
  const publicKey = new Uint8Array(publicKeyLength)
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, seed)
  return { publicKey, secretKey }
}

export function publicKey(seed: Uint8Array): Uint8Array {
  const pair = keyPairFromSeed(seed)
  sodium.sodium_memzero(pair.secretKey)
  return pair.publicKey
}

export function sign(message: Uint8Array, secretKey: Uint8Array): Uint8Array {
  expectLength('secret key', secretKey, secretKeyLength)
  const signature = new Uint8Array(signatureLength)
  sodium.crypto_sign_detached(signature, message, secretKey)
  return signature
}

/** Signatures and keys come from outside, so a wrong length is a signature that does not verify, not an exception. */
export function verify(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== signatureLength || publicKey.length !== publicKeyLength) return false
  return sodium.crypto_sign_verify_detached(signature, message, publicKey)
}

function expectLength(what: string, bytes: Uint8Array, length: number): void {
  if (bytes.length !== length) throw new LengthError(`a ${what} has ${length} bytes, not ${bytes.length}`)
}

export class LengthError extends Error {
  override name = 'Ed25519.LengthError'
}
