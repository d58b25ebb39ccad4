/**
 * Bytes that must not outlive their use: in memory of libsodium, which is locked against swapping where
 * the system allows it, fenced by guard pages, never moved by the garbage collector, and wiped when it is freed.
 */
import { sodium } from '@latchkey/algorand/sodium'
import { Slabs } from './Slabs.js'

const slabs = new Slabs()

/**
 * Zeroed protected memory.
 *
 * @throws {@link KmdError} `no_secure_memory` if the system gives no more.
 */
export function allocate(length: number): Buffer {
  return slabs.allocate(length)
}

/**
 * Random bytes in protected memory.
 *
 * @throws {@link KmdError} `no_secure_memory` if the system gives no more.
 */
export function random(length: number): Buffer {
  const secret = allocate(length)
  sodium.randombytes_buf(secret)
  return secret
}

/** Wipes and returns memory from `allocate`. The buffer must not be touched afterwards. */
export function free(secret: Buffer): void {
  slabs.free(secret)
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
