/** Reads JSON tokens from bytes, as the Go daemon does: white space, literals, numbers, strings and base64. */

import type { Wire } from '@latchkey/kmd-api'
import { KmdError } from '../errors.js'

export type Cursor = { bytes: Buffer; at: number; depth: number; wire: Wire }

export const quote = 0x22
export const comma = 0x2c
export const colon = 0x3a
export const openBracket = 0x5b
export const backslash = 0x5c
export const closeBracket = 0x5d
export const openBrace = 0x7b
export const closeBrace = 0x7d

export const refuse = (): never => {
  throw new KmdError('bad_body')
}

/** Returns the next byte that is not white space, without consuming it; -1 at the end. */
export function peek(cursor: Cursor): number {
  const { bytes } = cursor
  let at = cursor.at
  let byte = bytes[at]
  while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++at]
  cursor.at = at
  return byte ?? -1
}

export function equalsAscii(bytes: Buffer, text: string): boolean {
  return bytes.length === text.length && hasAsciiAt(bytes, 0, text)
}

export function hasAsciiAt(bytes: Buffer, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false
  return true
}

export function literal(cursor: Cursor, word: string): void {
  const { bytes, at } = cursor
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word.charCodeAt(i)) refuse()
  cursor.at = at + word.length
}

/** Moves past the characters of a number and returns their end. */
export function skipNumberLetters(cursor: Cursor): number {
  const { bytes, at } = cursor
  let end = at
  for (let byte = bytes[end]; byte !== undefined && isNumberLetter(byte); byte = bytes[end]) end++
  if (end === at) refuse()
  cursor.at = end
  return end
}

/** Returns the characters of a number as a view of the body. */
export function readNumberLetters(cursor: Cursor): Buffer {
  const start = cursor.at
  return cursor.bytes.subarray(start, skipNumberLetters(cursor))
}

const isNumberLetter = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45 || byte === 0x65

/** Returns the bytes of a quoted string. Without escapes they are a view of the body, wiped together with it. */
export function readString(cursor: Cursor, foldPairs = false): Buffer {
  const { bytes } = cursor
  const start = cursor.at + 1
  let at = start
  for (;;) {
    const byte = bytes[at]
    if (byte === quote) {
      cursor.at = at + 1
      return bytes.subarray(start, at)
    }
    if (byte === backslash) return readEscapedString(cursor, start, foldPairs)
    if (byte === undefined) refuse()
    at++
  }
}

/**
 * Returns a quoted string without escapes, one character per byte; undefined for anything else, which is not consumed.
 */
export function readAscii(cursor: Cursor): string | undefined {
  if (peek(cursor) !== quote) return undefined
  const { bytes } = cursor
  const start = cursor.at + 1
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === backslash) return undefined
    if (byte !== quote) continue
    cursor.at = at + 1
    return bytes.toString('latin1', start, at)
  }
  return undefined
}

/** Maps the character after a backslash to its meaning; 0 if it is not an escape. */
const shortEscapes = new Uint8Array(256)
for (const [letter, meaning] of Object.entries({
  '"': 34,
  "'": 39,
  '/': 47,
  '\\': 92,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
})) {
  shortEscapes[letter.charCodeAt(0)] = meaning
}

/**
 * Two escapes of a surrogate pair are one character. The Go daemon turns them into one replacement character. Names
 * (`foldPairs`) follow the Go daemon, but a password must not become easier to guess.
 */
function readEscapedString(cursor: Cursor, start: number, foldPairs: boolean): Buffer {
  const { bytes } = cursor
  let end = start
  while (bytes[end] !== quote) {
    if (end >= bytes.length) refuse()
    end += bytes[end] === backslash ? 2 : 1
  }
  // Decoded in place, because no escape grows when decoded. A password still exists only in the body.
  let to = start
  let at = start
  while (at < end) {
    const byte = bytes[at]!
    if (byte !== backslash) {
      bytes[to++] = byte
      at++
    } else if (bytes[at + 1] === 0x75) {
      let unit = readUnit(bytes, at + 2, end)
      at += 6
      if (unit >= 0xd800 && unit <= 0xdbff && bytes[at] === backslash && bytes[at + 1] === 0x75) {
        const low = readUnit(bytes, at + 2, end)
        if (low >= 0xdc00 && low <= 0xdfff) {
          unit = foldPairs ? 0xfffd : 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
          at += 6
        }
      }
      to += writeUtf8(bytes, to, unit >= 0xd800 && unit <= 0xdfff ? 0xfffd : unit)
    } else {
      bytes[to++] = shortEscapes[bytes[at + 1]!] || refuse()
      at += 2
    }
  }
  cursor.at = end + 1
  return bytes.subarray(start, to)
}

const notHex = 0xff
const hexValues = new Uint8Array(256).fill(notHex)
for (const [digit, letter] of [...'0123456789abcdef'].entries()) {
  hexValues[letter.charCodeAt(0)] = hexValues[letter.toUpperCase().charCodeAt(0)] = digit
}

/** Reads the four hex digits of a \\u escape; invalid digits stand for the replacement character. */
function readUnit(bytes: Buffer, at: number, end: number): number {
  if (at + 4 > end) refuse()
  let unit = 0
  for (let index = at; index < at + 4; index++) {
    const digit = hexValues[bytes[index]!]!
    if (digit === notHex) return 0xfffd
    unit = (unit << 4) | digit
  }
  return unit
}

/**
 * Returns the number of bytes written. `Buffer.write` costs ten times as much, and a body may consist only of escapes.
 */
function writeUtf8(out: Buffer, at: number, codePoint: number): number {
  if (codePoint < 0x80) {
    out[at] = codePoint
    return 1
  }
  const length = codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4
  let rest = codePoint
  for (let index = at + length - 1; index > at; index--) {
    out[index] = 0x80 | (rest & 0x3f)
    rest >>>= 6
  }
  out[at] = ((0xf00 >> length) & 0xff) | rest
  return length
}

/**
 * Reads a small integer. A body may consist of half a million of them, so each is read from the bytes without a string, a
 * copy or a regular expression.
 */
export function readUint8(cursor: Cursor): number {
  const { bytes, at } = cursor
  // The usual element of a byte array: one to three digits and a terminator.
  const first = bytes[at]! - 0x30
  if (first >= 0 && first <= 9) {
    let value = first
    let end = at + 1
    for (let digit = bytes[end]! - 0x30; digit >= 0 && digit <= 9 && end < at + 3; digit = bytes[++end]! - 0x30) {
      value = value * 10 + digit
    }
    const next = bytes[end]
    if (next === comma || next === closeBracket || next === closeBrace) {
      if (value > 255) refuse()
      cursor.at = end
      return value
    }
  }
  const token = peek(cursor)
  if (token === 0x6e) {
    literal(cursor, 'null')
    return 0
  }
  const start = cursor.at
  if (token !== quote) return parseUint8(bytes, start, skipNumberLetters(cursor))
  // Quoted integers are mostly digits without escapes.
  let end = start + 1
  for (let digit = bytes[end]! - 0x30; digit >= 0 && digit <= 9; digit = bytes[++end]! - 0x30);
  if (bytes[end] === quote) {
    cursor.at = end + 1
    return end === start + 1 ? 0 : parseUint8(bytes, start + 1, end)
  }
  const quoted = readString(cursor)
  return quoted.length === 0 ? 0 : parseUint8(quoted, 0, quoted.length)
}

const maxDigits = 1024
const maxExponentDigits = 4

/** Parses an integer in any decimal notation (`1.0`, `10e-1`, `+007`) whose value is 0 to 255; never a minus sign. */
function parseUint8(bytes: Buffer, start: number, end: number): number {
  let at = bytes[start] === 0x2b ? start + 1 : start
  let digits = 0
  // The digits without zeros at either end, and the number of zeros after the last one.
  let value = 0
  let zeros = 0
  let fraction = 0
  let isFraction = false
  for (; at < end; at++) {
    const byte = bytes[at]!
    if (byte === 0x2e && !isFraction) {
      isFraction = true
      continue
    }
    const digit = byte - 0x30
    if (digit < 0 || digit > 9) break
    if (++digits > maxDigits) refuse()
    if (isFraction) fraction++
    if (digit !== 0) {
      value = value * 10 ** (zeros + 1) + digit
      zeros = 0
      // The rest can add zeros but cannot make the value smaller: a digit after the point would have to be zero.
      if (value > 255) refuse()
    } else if (value !== 0) {
      zeros++
    }
  }
  if (digits === 0) refuse()
  const exponent = (at < end ? readExponent(bytes, at, end) : 0) - fraction + zeros
  if (value === 0) return 0
  if (exponent < 0 || exponent > 2) refuse()
  const result = value * 10 ** exponent
  return result <= 255 ? result : refuse()
}

function readExponent(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] !== 0x65 && bytes[start] !== 0x45) refuse()
  const sign = bytes[start + 1]
  const first = sign === 0x2b || sign === 0x2d ? start + 2 : start + 1
  if (first >= end || end - first > maxExponentDigits) refuse()
  let exponent = 0
  for (let at = first; at < end; at++) {
    const digit = bytes[at]! - 0x30
    if (digit < 0 || digit > 9) refuse()
    exponent = exponent * 10 + digit
  }
  return sign === 0x2d ? -exponent : exponent
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
