import { createRequire } from 'node:module'
import type { Signing } from './Crypto.js'

/** The functions of sodium-native that Latchkey uses; the package ships no types. */
export type Sodium = {
  crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void
  crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void
  crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean
  crypto_secretbox_easy(box: Uint8Array, message: Uint8Array, nonce: Uint8Array, key: Uint8Array): void
  crypto_secretbox_open_easy(message: Uint8Array, box: Uint8Array, nonce: Uint8Array, key: Uint8Array): boolean
  crypto_generichash(output: Uint8Array, input: Uint8Array, key: Uint8Array): void
  randombytes_buf(buffer: Uint8Array): void
  sodium_malloc(size: number): Buffer
  sodium_free(buffer: Uint8Array): void
  sodium_memzero(buffer: Uint8Array): void
}

/** Required, not imported: an import of CommonJS reads the file twice, which shows when a command starts. */
export function require(): Sodium {
  return createRequire(import.meta.url)('sodium-native') as Sodium
}

/** sodium-native, or undefined where it is not installed or has no binary for this machine. */
export function load(): Sodium | undefined {
  try {
    return require()
  } catch {
    return undefined
  }
}

export function fromSodium(sodium: Sodium): Signing {
  return {
    writeKeyPair: sodium.crypto_sign_seed_keypair,
    sign: sodium.crypto_sign_detached,
    verify: sodium.crypto_sign_verify_detached,
    wipe: sodium.sodium_memzero,
  }
}
