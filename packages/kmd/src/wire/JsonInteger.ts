/**
 * Reads small integers in a request body. A body may consist of half a million integers, so each is read from the bytes
 * without a string, a copy or a regular expression.
 */
import {
  type Cursor,
  closeBrace,
  closeBracket,
  comma,
  literal,
  peek,
  quote,
  readString,
  refuse,
  skipNumberLetters,
} from './JsonLexer.js'

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
