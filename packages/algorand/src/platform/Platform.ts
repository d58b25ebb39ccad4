/**
 * The interface of every implementation behind the package import `#platform`: equal results everywhere, but fast on
 * Node. Callers check the lengths.
 */
export type Platform = Texts & Hashing & Signing

export type Texts = {
  isUtf8(bytes: Uint8Array): boolean
  /** Returns the text, or undefined if the bytes are not UTF-8. */
  decodeUtf8(bytes: Uint8Array): string | undefined
  /** Returns the text, with replacement characters for invalid UTF-8. */
  decodeUtf8Lossy(bytes: Uint8Array): string
  /** Returns one character per byte. */
  decodeLatin1(bytes: Uint8Array): string
  encodeBase64(bytes: Uint8Array): string
  /** Decodes padded base64 in the standard alphabet. Returns undefined for any other spelling. */
  decodeBase64(text: string): Uint8Array | undefined
  encodeHex(bytes: Uint8Array): string
  /** Whether bytes of the same length are equal. Fast for more than a hundred bytes. */
  isEqual(a: Uint8Array, b: Uint8Array): boolean
  /** Prevents the memory from being transferred to another thread. */
  markAsUntransferable(buffer: ArrayBuffer): void
}

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
