/** Reads JSON tokens from bytes, as the Go daemon does: white space, literals, numbers and strings. */

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
