import { createRequire } from 'node:module'

/** sodium-native ships no types; these are the few functions this package calls. */
type Sodium = {
  crypto_secretbox_easy(box: Uint8Array, message: Uint8Array, nonce: Uint8Array, key: Uint8Array): void
  crypto_secretbox_open_easy(message: Uint8Array, box: Uint8Array, nonce: Uint8Array, key: Uint8Array): boolean
  crypto_generichash(output: Uint8Array, input: Uint8Array, key: Uint8Array): void
  randombytes_buf(buffer: Uint8Array): void
  sodium_malloc(size: number): Buffer
  sodium_free(buffer: Uint8Array): void
  sodium_memzero(buffer: Uint8Array): void
}

/** Required, not imported: an import of CommonJS reads the file twice, which shows when a command starts. */
export const sodium = createRequire(import.meta.url)('sodium-native') as Sodium
