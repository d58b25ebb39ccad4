/**
 * Bytes that must not outlive their use: in memory of libsodium, which is locked against swapping where
 * the system allows it, fenced by guard pages, never moved by the garbage collector, and wiped when it is freed.
 */
import { sodium } from '@latchkey/algorand/sodium'

export function allocate(length: number): Buffer {
  return sodium.sodium_malloc(length)
}

export function random(length: number): Buffer {
  const secret = allocate(length)
  sodium.randombytes_buf(secret)
  return secret
}

/** Wipes and returns memory from `allocate`. The buffer must not be touched afterwards. */
export function free(secret: Buffer): void {
  sodium.sodium_free(secret)
}

/** Wipes bytes that lie in ordinary memory. */
export function wipe(...buffers: Uint8Array[]): void {
  for (const bytes of buffers) if (bytes.length > 0) sodium.sodium_memzero(bytes)
}

/** Random bytes that are not secret by themselves: salts, nonces, identifiers. */
export function randomBytes(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  sodium.randombytes_buf(bytes)
  return bytes
}
