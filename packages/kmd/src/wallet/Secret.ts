/**
 * Holds secret bytes in libsodium memory: locked against swapping if the system allows it, fenced by guard pages, never
 * moved by the garbage collector, and wiped when freed.
 */
import { sodium } from '@latchkey/algorand/sodium'
import { Slabs } from './Slabs.js'

const slabs = new Slabs()

/**
 * Allocates zeroed protected memory.
 *
 * @throws {@link KmdError} `no_secure_memory` if the system has no more.
 */
export function allocate(length: number): Buffer {
  return slabs.allocate(length)
}

/**
 * Returns random bytes in protected memory.
 *
 * @throws {@link KmdError} `no_secure_memory` if the system has no more.
 */
export function random(length: number): Buffer {
  const secret = allocate(length)
  sodium.randombytes_buf(secret)
  return secret
}

/** Wipes and frees memory from `allocate`. Do not use the buffer afterwards. */
export function free(secret: Buffer): void {
  slabs.free(secret)
}

/** Wipes bytes in ordinary memory. */
export function wipe(...buffers: Uint8Array[]): void {
  for (const bytes of buffers) if (bytes.length > 0) sodium.sodium_memzero(bytes)
}

/** Returns random bytes that are not secret: salts, nonces, identifiers. */
export function randomBytes(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  sodium.randombytes_buf(bytes)
  return bytes
}
