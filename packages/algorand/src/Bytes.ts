/**
 * Byte strings: comparison, concatenation, text forms, random bytes. Everything takes and returns plain `Uint8Array`s.
 */
import * as crypto from '#crypto'
import * as platform from '#platform'
import * as Internal from './internal/Bytes.js'

/**
 * Joins byte strings. Not for secrets: short results share their memory with others.
 *
 * @example
 * Bytes.concat([Bytes.fromUtf8('TX'), encoded])
 */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  return Internal.concat(parts)
}

/** Whether the bytes are equal. Not for secrets, because the time reveals how many bytes match. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Internal.equal(a, b)
}

/** Whether the bytes are equal, in a time that depends only on their lengths. For secrets. */
export function equalConstantTime(a: Uint8Array, b: Uint8Array): boolean {
  return crypto.equalConstantTime(a, b)
}

/** Whether every byte is zero. Not for secrets. */
export function isZero(bytes: Uint8Array): boolean {
  return Internal.isZero(bytes)
}

/** Random bytes for keys and secrets, from the system's generator. */
export function random(length: number): Uint8Array {
  return crypto.randomBytes(length)
}

/** Overwrites a secret with zeros. Earlier copies that the runtime made remain. */
export function wipe(bytes: Uint8Array): void {
  crypto.wipe(bytes)
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

/** Encodes bytes as base32 in upper case, without padding. */
export function toBase32(bytes: Uint8Array): string {
  return Internal.encodeBase32(bytes)
}

/** Decodes base32 in upper case without padding. Returns undefined for any other spelling. */
export function fromBase32(text: string): Uint8Array | undefined {
  return Internal.decodeBase32(text)
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

/** Decodes UTF-8. Returns undefined if the bytes are not UTF-8. A byte order mark is kept. */
export function toUtf8(bytes: Uint8Array): string | undefined {
  return Internal.decodeText(bytes)
}

/** Encodes text as UTF-8. Half of a surrogate pair becomes the replacement character. */
export function fromUtf8(text: string): Uint8Array {
  return Internal.encodeText(text)
}
