import { markAsUntransferable } from '#platform'

// A typed array of more than 64 bytes costs V8 over a microsecond, most of the cost of assembling a signed transaction.
// Small ones are therefore cut from a shared slab, as Node does for Buffers. Unlike in Node, a slab is never reused, so
// that no old data shows through.

const slabLength = 8192
const maxPooled = 1024

let slab = newSlab()
let used = 0

/** Returns zeroed bytes. Not for secrets, because adjacent memory can be reached through `buffer`. */
export function allocate(length: number): Uint8Array {
  if (length > maxPooled) return new Uint8Array(length)
  if (used + length > slabLength) {
    slab = newSlab()
    used = 0
  }
  const bytes = new Uint8Array(slab, used, length)
  used += (length + 7) & ~7
  return bytes
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const out = allocate(length)
  let offset = 0
  for (const part of parts) {
    out.set(part, offset)
    offset += part.length
  }
  return out
}

export function isZero(bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) if (bytes[index] !== 0) return false
  return true
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}

function newSlab(): ArrayBuffer {
  const buffer = new ArrayBuffer(slabLength)
  // Transferring one result to another thread would detach all others of the slab.
  markAsUntransferable(buffer)
  return buffer
}
