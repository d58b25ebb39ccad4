/** Literals of the assembly language: integers and byte strings. */
import { Address, Bytes, Hash } from '@latchkey/algorand'
import * as Base64 from '../encoding/Base64.js'
import { isPrintable, quote } from '../encoding/quote.js'
import { maxUint64 } from '../opcodes/StackType.js'
import type { Token } from './Token.js'

/** Why a literal is invalid. */
export type LiteralProblem = { readonly problem: string; readonly token: Token }

/** Parses a uint64: decimal, `0x`, `0b`, `0o`, a leading `0` for octal, `_` between digits. */
export function parseInteger(text: string): bigint | 'invalid syntax' | 'value out of range' {
  const [, prefix, digits] = /^(0[xX]|0[bB]|0[oO]|0(?=[0-9_]))?(.*)$/s.exec(text)!
  const base = prefix === undefined ? 10 : { x: 16, b: 2, o: 8 }[prefix[1]?.toLowerCase() ?? 'o']!
  const [valid] = { 2: /^[01_]*/, 8: /^[0-7_]*/, 10: /^[0-9_]*/, 16: /^[0-9a-fA-F_]*/ }[base]!.exec(digits!)!
  const plain = valid.replaceAll('_', '')
  if (plain === '') return 'invalid syntax'
  const value = BigInt(base === 10 ? plain : `0${{ 2: 'b', 8: 'o', 16: 'x' }[base]}${plain}`)
  // The digits are read first, so that too many of them hide what follows.
  if (value > maxUint64) return 'value out of range'
  if (valid !== digits) return 'invalid syntax'
  // An underscore stands between digits, where the prefix counts as a digit.
  return /__|_$/.test(digits) || (prefix === undefined && digits.startsWith('_')) ? 'invalid syntax' : value
}

/** A byte string, and how many tokens it took. */
export type ParsedBytes = { readonly value: Uint8Array; readonly taken: number }

/** Parses the byte literal at the start of the tokens. */
export function parseBytes(tokens: readonly Token[]): ParsedBytes | LiteralProblem {
  const token = tokens[0]!
  const { text } = token
  const [, encoding] = /^(base32|b32|base64|b64)$/.exec(text) ?? []
  if (encoding !== undefined) {
    const next = tokens[1]
    if (next === undefined) return { problem: `${text} needs byte literal argument`, token }
    const decoded = decode(encoding, next.text, 0)
    return typeof decoded === 'string' ? { problem: decoded, token: next } : { value: decoded, taken: 2 }
  }
  const value = parseToken(text)
  return typeof value === 'string' ? { problem: value, token } : { value, taken: 1 }
}

/** Parses an address. Returns the problem if it is not one. */
export function parseAddress(text: string): Uint8Array | string {
  const decoded = decodeBase32(text)
  if (typeof decoded === 'number') return `failed to decode address ${text} from base 32`
  if (decoded.length < 32) return `decoded bad addr: ${text}`
  const address = decoded.subarray(0, 32)
  const checksum = Hash.sha512_256(address).subarray(-checksumBytes)
  if (!Bytes.equal(decoded.subarray(-checksumBytes), checksum)) {
    return `address ${text} is malformed, checksum verification failed`
  }
  return Address.encode(address) === text ? address : `address ${text} is non-canonical`
}

const checksumBytes = 4

/** Parses a string literal in quotes. Returns undefined if the text is not in quotes. */
export function parseString(text: string): Uint8Array | string | undefined {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return undefined
  return unescaped(text.slice(1, -1))
}

function parseToken(text: string): Uint8Array | string {
  const [, encoding] = /^(base32|b32|base64|b64)\(/.exec(text) ?? []
  if (encoding !== undefined) {
    const close = text.indexOf(')')
    if (close < 0) return `argument ${text} lacks closing parenthesis`
    if (close < text.length - 1) return `argument ${text} must end at first closing parenthesis`
    const start = encoding.length + 1
    return decode(encoding, text.slice(start, -1), start)
  }
  if (text.startsWith('0x')) return parseHex(text.slice(2))
  return parseString(text) ?? `arg did not parse: ${text}`
}

function decode(encoding: string, text: string, start: number): Uint8Array | string {
  const is32 = encoding.endsWith('32')
  const decoded = is32 ? decodeBase32(text) : Base64.decode(Bytes.fromUtf8(text))
  if (typeof decoded !== 'number') return decoded
  return `illegal base${is32 ? 32 : 64} data at input byte ${decoded + start}`
}

function parseHex(text: string): Uint8Array | string {
  for (const byte of Bytes.fromUtf8(text)) {
    const character = String.fromCharCode(byte)
    if (!/[0-9a-fA-F]/.test(character)) {
      const code = byte.toString(16).toUpperCase().padStart(4, '0')
      return `encoding/hex: invalid byte: U+${code}${isPrintable(character) ? ` '${character}'` : ''}`
    }
  }
  return Bytes.fromHex(text) ?? 'encoding/hex: odd length hex string'
}

const escapes: { readonly [character: string]: number } = { n: 10, r: 13, t: 9, '\\': 92, '"': 34 }

function unescaped(text: string): Uint8Array | string {
  const input = Bytes.fromUtf8(text)
  const output: number[] = []
  for (let index = 0; index < input.length; index++) {
    const byte = input[index]!
    if (byte !== 92) {
      output.push(byte)
      continue
    }
    const next = input[++index]
    if (next === undefined) return 'non-terminated escape sequence'
    const character = String.fromCharCode(next)
    if (character === 'x') {
      if (index + 2 >= input.length) return 'non-terminated hex sequence'
      const digits = Bytes.toUtf8(input.subarray(index + 1, index + 3)) ?? '\ufffd'
      if (!/^[0-9a-fA-F]{2}$/.test(digits)) return `strconv.ParseUint: parsing ${quote(digits)}: invalid syntax`
      output.push(Number.parseInt(digits, 16))
      index += 2
    } else {
      const escaped = escapes[character]
      if (escaped === undefined) return `invalid escape sequence \\${character}`
      output.push(escaped)
    }
  }
  return Uint8Array.from(output)
}

/** Decodes base32 with padding or without it. Returns the offset of the first character that is no digit. */
function decodeBase32(text: string): Uint8Array | number {
  const bytes = Bytes.fromUtf8(text.replaceAll('\r', ''))
  const first = bytes.findIndex((byte) => digitValue(byte) === undefined)
  if (first < 0) return decodeDigits(bytes)
  const isPadded = bytes.length % 8 === 0 && bytes.subarray(first).every((byte) => byte === equalsSign)
  return isPadded && paddedLengths.has(first % 8) ? decodeDigits(bytes.subarray(0, first)) : first
}

const equalsSign = 61
/** The digits of a last group that has padding. */
const paddedLengths: ReadonlySet<number> = new Set([2, 4, 5, 7])

function decodeDigits(digits: Uint8Array): Uint8Array {
  const tail = digits.length % 8
  // Only these numbers of digits have bits for another byte, and no node counts the bytes of others.
  const isWhole = tail === 0 || paddedLengths.has(tail)
  const output = new Uint8Array(Math.floor(((isWhole ? digits.length : digits.length - tail) * 5) / 8))
  let bits = 0
  let bitCount = 0
  let length = 0
  for (const digit of digits) {
    bits = ((bits << 5) | digitValue(digit)!) & 0xfff
    bitCount += 5
    if (bitCount >= 8 && length < output.length) {
      bitCount -= 8
      output[length++] = (bits >> bitCount) & 0xff
    }
  }
  return output
}

function digitValue(code: number): number | undefined {
  if (code >= 65 && code <= 90) return code - 65
  return code >= 50 && code <= 55 ? code - 24 : undefined
}
