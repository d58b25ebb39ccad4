/** The functions of `Bytes.ts`, and the allocation of short byte strings. */
import * as platform from '#platform'

// A typed array of more than 64 bytes costs V8 over a microsecond, most of the cost of assembling a signed transaction.
// Small ones are therefore cut from a shared slab, as Node does for Buffers. Unlike in Node, a slab is never reused, so
// that no old data shows through.

const slabLength = 8192
const maxPooled = 1024
/** Shorter byte strings are compared faster byte by byte. */
const minLongLength = 128

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

/**
 * Joins byte strings. Not for secrets: short results share their memory with others.
 *
 * @example
 * Bytes.concat([Bytes.fromUtf8('TX'), encoded])
 */
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

/** Whether every byte is zero. Not for secrets. */
export function isZero(bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) if (bytes[index] !== 0) return false
  return true
}

/** Whether the bytes are equal. Not for secrets, because the time reveals how many bytes match. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  if (a.length >= minLongLength) return a === b || platform.isEqual(a, b)
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}

function newSlab(): ArrayBuffer {
  const buffer = new ArrayBuffer(slabLength)
  // Transferring one result to another thread would detach all others of the slab.
  platform.markAsUntransferable(buffer)
  return buffer
}

// Text in transactions is short and nearly always ASCII, for which a loop is several times faster than the platform's
// functions.
const maxLoop = 32
const textEncoder = /* @__PURE__ */ new TextEncoder()

/** Decodes UTF-8. Returns undefined if the bytes are not UTF-8. A byte order mark is kept. */
export function toUtf8(bytes: Uint8Array): string | undefined {
  if (bytes.length <= maxLoop) {
    let text = ''
    let index = 0
    for (; index < bytes.length; index++) {
      const byte = bytes[index]!
      if (byte >= 0x80) break
      text += String.fromCharCode(byte)
    }
    if (index === bytes.length) return text
  }
  return platform.decodeUtf8(bytes)
}

/** Encodes text as UTF-8. Half of a surrogate pair becomes the replacement character. */
export function fromUtf8(text: string): Uint8Array {
  if (text.length <= maxLoop) {
    const out = allocate(text.length)
    let index = 0
    for (; index < text.length; index++) {
      const code = text.charCodeAt(index)
      if (code >= 0x80) break
      out[index] = code
    }
    if (index === text.length) return out
  }
  return textEncoder.encode(text)
}

// RFC 4648 base32, upper case, without padding.
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const codes = /* @__PURE__ */ Uint8Array.from(alphabet, (character) => character.charCodeAt(0))

/** Value of each character code, 255 where the character is not in the alphabet. */
const values = /* @__PURE__ */ valuesOf(alphabet)

function valuesOf(characters: string): Uint8Array {
  const table = new Uint8Array(128).fill(255)
  for (let value = 0; value < characters.length; value++) table[characters.charCodeAt(value)] = value
  return table
}

/** Encodes bytes as base32 in upper case, without padding. */
export function toBase32(bytes: Uint8Array): string {
  const out = new Uint8Array(Math.ceil((bytes.length * 8) / 5))
  let buffer = 0
  let bits = 0
  let length = 0
  for (let index = 0; index < bytes.length; index++) {
    buffer = ((buffer & 0x1f) << 8) | bytes[index]!
    bits += 8
    while (bits >= 5) {
      bits -= 5
      out[length++] = codes[(buffer >>> bits) & 31]!
    }
  }
  if (bits > 0) out[length] = codes[(buffer << (5 - bits)) & 31]!
  return platform.decodeLatin1(out)
}

/** Decodes base32 in upper case without padding. Returns undefined for any other spelling. */
export function fromBase32(text: string): Uint8Array | undefined {
  const out = new Uint8Array(Math.floor((text.length * 5) / 8))
  let buffer = 0
  let bits = 0
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const value = code < 128 ? values[code]! : 255
    if (value === 255) return undefined
    buffer = ((buffer & 0xff) << 5) | value
    bits += 5
    if (bits >= 8) {
      bits -= 8
      out[length++] = (buffer >>> bits) & 255
    }
  }
  // More than four leftover bits would be an extra character, and nonzero ones a second spelling.
  if (bits > 4 || (buffer & ((1 << bits) - 1)) !== 0) return undefined
  return out
}

/** Whether the bytes are equal, in a time that depends only on their lengths. For secrets. */
export function equalConstantTime(a: Uint8Array, b: Uint8Array): boolean {
  return platform.equalConstantTime(a, b)
}

/** Random bytes for keys and secrets, from the system's generator. */
export function random(length: number): Uint8Array {
  return platform.randomBytes(length)
}

/** Overwrites a secret with zeros. Earlier copies that the runtime made remain. */
export function wipe(bytes: Uint8Array): void {
  platform.wipe(bytes)
}

/** Standard base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  return platform.encodeBase64(bytes)
}

/** Decodes standard base64 with padding. Returns undefined for any other spelling. */
export function fromBase64(text: string): Uint8Array | undefined {
  return platform.decodeBase64(text)
}

/** Base64 in the URL-safe alphabet, without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return platform.encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Decodes base64 in the URL-safe alphabet without padding. Returns undefined for any other spelling. */
export function fromBase64Url(text: string): Uint8Array | undefined {
  if (/[+/=]/.test(text)) return undefined
  return platform.decodeBase64(
    text
      .replaceAll('-', '+')
      .replaceAll('_', '/')
      .padEnd(Math.ceil(text.length / 4) * 4, '='),
  )
}

/** Lower-case hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  return platform.encodeHex(bytes)
}

/** Decodes hexadecimal in either case. Returns undefined for anything else. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9A-Fa-f]*$/.test(text)) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = Number.parseInt(text.slice(2 * index, 2 * index + 2), 16)
  }
  return bytes
}
