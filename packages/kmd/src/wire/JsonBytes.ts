/** Reads bytes in a request body: base64, or an array of integers. */
import { Address } from '@latchkey/algorand'
import * as Base64 from './Base64.js'
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
  if (first === quote) return Base64.decode(readString(cursor)) ?? refuse()
  return readOtherBytes(cursor, first, Math.ceil((cursor.bytes.length - cursor.at) / 2))
}

/** A fixed array may be `{}` for zeros. Integers beyond its length are rejected, as in the reference. */
export function readFixed(cursor: Cursor, length: number): Buffer {
  const first = peek(cursor)
  if (first === quote) return Base64.decode(readString(cursor)) ?? refuse()
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
  const key = Base64.decode(text) ?? refuse()
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
