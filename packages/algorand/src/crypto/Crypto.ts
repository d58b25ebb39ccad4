/** The interface of every implementation behind the package import `#crypto`. Callers check the lengths. */
export type Crypto = Hashing & Signing

export type Hashing = {
  sha256(data: Uint8Array): Uint8Array
  /** SHA-512/256, which has its own initial state and is not truncated SHA-512. */
  sha512_256(data: Uint8Array): Uint8Array
  hmacSha256(key: Uint8Array, data: Uint8Array): Uint8Array
  hmacSha512_256(key: Uint8Array, data: Uint8Array): Uint8Array
  randomBytes(length: number): Uint8Array
  /** Compares in a time that depends only on the lengths. */
  equalConstantTime(a: Uint8Array, b: Uint8Array): boolean
}

/**
 * Ed25519 with the rules of libsodium. Verification is cofactorless and rejects S >= L, non-canonical public keys, and
 * public keys and R of small order. Verifiers that differ in any of these would disagree about a payment.
 */
export type Signing = {
  /** Writes the 32 bytes of the public key, and the 64 bytes of the secret key: the seed and the public key. */
  writeKeyPair(publicKeyOut: Uint8Array, secretKeyOut: Uint8Array, seed: Uint8Array): void
  /** The secret key must come from `writeKeyPair`, because only libsodium reads its second half. */
  sign(signatureOut: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void
  verify(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean
  /** Overwrites with zeros. */
  wipe(bytes: Uint8Array): void
}
