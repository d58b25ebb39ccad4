/** Reads bytes in a request body: base64, or an array of integers. */
import { Address } from '@latchkey/algorand'
import { readUint8 } from './JsonInteger.js'
import {
  type Cursor,
  closeBrace,
  closeBracket,
  comma,
  literal,
  openBrace,
  openBracket,
  peek,
  quote,
  readString,
  refuse,
} from './JsonLexer.js'

const nothing = Buffer.alloc(0)
const addressLength = 58

export function readBytes(cursor: Cursor): Buffer {
  const first = peek(cursor)
  if (first === quote) return decodeBase64(readString(cursor)) ?? refuse()
  return readOtherBytes(cursor, first, Math.ceil((cursor.bytes.length - cursor.at) / 2))
}

/** A fixed array may be `{}` for zeros. Integers beyond its length are rejected, as in the reference. */
export function readFixed(cursor: Cursor, length: number): Buffer {
  const first = peek(cursor)
  if (first === quote) return decodeBase64(readString(cursor)) ?? refuse()
  if (first === openBrace) {
    readEmptyObject(cursor)
    return nothing
  }
  return readOtherBytes(cursor, first, length)
}

/**
 * Reads a public key, or its address, which some SDKs send instead: as text (Python's `signing_address`), or its
 * letters in base64 (an address passed to JavaScript's `signTransactionWithSpecificPublicKey`). Neither can be a key:
 * 58 letters are not base64, and 58 bytes are not a key. The checksum ensures that an address was meant.
 */
export function readPublicKey(cursor: Cursor): Buffer {
  if (peek(cursor) !== quote) return readFixed(cursor, 32)
  const text = readString(cursor)
  if (text.length === addressLength) return addressOf(text) ?? refuse()
  const key = decodeBase64(text) ?? refuse()
  return key.length === addressLength ? (addressOf(key) ?? key) : key
}

function addressOf(text: Buffer): Buffer | undefined {
  const letters = text.toString('latin1')
  return Address.isValid(letters) ? Buffer.from(Address.decode(letters)) : undefined
}

/**
 * The halves of a key are compared when it is used. The reference never compares them. Its recorded responses accept
 * integers (which none of its clients send) with any second half, so in this case only the seed is passed on.
 */
export function readPrivateKey(cursor: Cursor): Buffer {
  const isIntegers = peek(cursor) === openBracket
  const key = readFixed(cursor, 64)
  return isIntegers && key.length === 64 && cursor.wire === 'reference' ? key.subarray(0, 32) : key
}

/** The reference accepts `{}` for an empty list and for an array of zeros. */
export function readEmptyObject(cursor: Cursor): void {
  cursor.at++
  if (peek(cursor) !== closeBrace) refuse()
  cursor.at++
}

function readOtherBytes(cursor: Cursor, first: number, limit: number): Buffer {
  if (first === 0x6e) {
    literal(cursor, 'null')
    return nothing
  }
  if (first !== openBracket) refuse()
  cursor.at++
  if (peek(cursor) === closeBracket) {
    cursor.at++
    return nothing
  }
  const out = Buffer.allocUnsafe(limit)
  for (let length = 0; ; ) {
    if (length >= limit) refuse()
    out[length++] = readUint8(cursor)
    const next = peek(cursor)
    cursor.at++
    if (next === closeBracket) return out.subarray(0, length)
    if (next !== comma) refuse()
  }
}

/**
 * Standard base64 with padding, as read by the reference: line breaks inside are skipped, and anything else outside the
 * alphabet is rejected. `Buffer.from(text, 'base64')` accepts URL-safe, unpadded and damaged text, so it is used only
 * after the check.
 */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

const values = new Uint8Array(256).fill(0xff)
for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i

const padding = 0x3d

/** Returns the bytes; undefined if the text is not base64. Removes line breaks from `text` in place. */
export function decodeBase64(text: Buffer): Buffer | undefined {
  const decoded = decodeClean(text)
  if (decoded !== undefined) return decoded
  return text.includes(0x0a) || text.includes(0x0d) ? decodeClean(withoutLineBreaks(text)) : undefined
}

function decodeClean(text: Buffer): Buffer | undefined {
  const { length } = text
  if (length % 4 !== 0) return undefined
  if (length === 0) return Buffer.alloc(0)
  const pads = text[length - 1] !== padding ? 0 : text[length - 2] !== padding ? 1 : 2
  const out = Buffer.allocUnsafe((length / 4) * 3 - pads)
  const whole = pads === 0 ? length : length - 4
  let at = 0
  let seen = 0
  for (let i = 0; i < whole; i += 4) {
    const first = values[text[i]!]!
    const second = values[text[i + 1]!]!
    const third = values[text[i + 2]!]!
    const fourth = values[text[i + 3]!]!
    seen |= first | second | third | fourth
    out[at++] = (first << 2) | (second >>> 4)
    out[at++] = (second << 4) | (third >>> 2)
    out[at++] = (third << 6) | fourth
  }
  if (pads > 0) {
    const first = values[text[whole]!]!
    const second = values[text[whole + 1]!]!
    const third = pads === 1 ? values[text[whole + 2]!]! : 0
    seen |= first | second | third
    out[at++] = (first << 2) | (second >>> 4)
    if (pads === 1) out[at++] = (second << 4) | (third >>> 2)
  }
  if (seen < 64) return out
  // It may be a part of a key.
  out.fill(0)
  return undefined
}

/** In place, so that a possible key is not in a second buffer. */
function withoutLineBreaks(text: Buffer): Buffer {
  let length = 0
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]!
    if (byte !== 0x0a && byte !== 0x0d) text[length++] = byte
  }
  return text.subarray(0, length)
}

const letters = Buffer.from(alphabet)

/** Writes base64 with padding to `out` and returns its end. A secret must not become a JavaScript string. */
export function encodeBase64Into(out: Uint8Array, start: number, bytes: Uint8Array): number {
  let at = start
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i
    const group = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    out[at++] = letters[group >>> 18]!
    out[at++] = letters[(group >>> 12) & 63]!
    out[at++] = left > 1 ? letters[(group >>> 6) & 63]! : padding
    out[at++] = left > 2 ? letters[group & 63]! : padding
  }
  return at
}
