import { createRequire } from 'node:module'

/** sodium-native ships no types; these are the few functions this package calls. */
type Sodium = {
  crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void
  crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void
  crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean
  sodium_malloc(size: number): Buffer
  sodium_memzero(buffer: Uint8Array): void
}

/** Required, not imported: an import of CommonJS reads the file twice, which shows when a command starts. */
export const sodium = createRequire(import.meta.url)('sodium-native') as Sodium
