/** Cryptography in pure JavaScript, for browsers and edge runtimes. */
import { hashes, Point, sign as signWithSeed } from '@noble/ed25519'
import { hmac } from '@noble/hashes/hmac.js'
import * as sha2 from '@noble/hashes/sha2.js'
import type { Crypto } from './Crypto.js'

const seedLength = 32
/**
 * The order L of the base point. No noble code runs at the top level, so a bundle that neither signs nor verifies can
 * omit it.
 */
const order = 0x1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3edn
const maxRandomBytes = 65_536

export const sha256: Crypto['sha256'] = (data) => sha2.sha256(data)
export const sha512_256: Crypto['sha512_256'] = (data) => sha2.sha512_256(data)
export const hmacSha256: Crypto['hmacSha256'] = (key, data) => hmac(sha2.sha256, key, data)
export const hmacSha512_256: Crypto['hmacSha512_256'] = (key, data) => hmac(sha2.sha512_256, key, data)

export const randomBytes: Crypto['randomBytes'] = (length) => {
  const bytes = new Uint8Array(length)
  // The limit of one Web Crypto call.
  for (let start = 0; start < length; start += maxRandomBytes) {
    globalThis.crypto.getRandomValues(bytes.subarray(start, start + maxRandomBytes))
  }
  return bytes
}

export const equalConstantTime: Crypto['equalConstantTime'] = (a, b) => {
  if (a.length !== b.length) return false
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= a[index]! ^ b[index]!
  return difference === 0
}

export const writeKeyPair: Crypto['writeKeyPair'] = (publicKeyOut, secretKeyOut, seed) => {
  const digest = sha2.sha512(plain(seed))
  digest[0]! &= 0xf8
  digest[31]! = (digest[31]! & 0x7f) | 0x40
  // The clamped scalar is a multiple of 8 and not of L, so reducing it changes no result and never gives zero.
  const publicKey = Point.BASE.multiply(littleEndian(digest.subarray(0, 32)) % order).toBytes()
  digest.fill(0)
  publicKeyOut.set(publicKey)
  secretKeyOut.set(seed)
  secretKeyOut.set(publicKey, seedLength)
}

export const sign: Crypto['sign'] = (signatureOut, message, secretKey) => {
  hashes.sha512 = sha2.sha512
  signatureOut.set(signWithSeed(plain(message), plain(secretKey.subarray(0, seedLength))))
}

// Not noble's own `verify`, which multiplies by the cofactor and accepts R of small order.
export const verify: Crypto['verify'] = (signature, message, publicKey) => {
  const s = littleEndian(signature.subarray(32))
  if (s >= order) return false
  const key = decodePoint(publicKey)
  if (key === undefined || key.isSmallOrder()) return false
  const input = new Uint8Array(64 + message.length)
  input.set(signature.subarray(0, 32))
  input.set(publicKey, 32)
  input.set(message, 64)
  const k = littleEndian(sha2.sha512(input)) % order
  const r = Point.BASE.multiply(s, false).subtract(key.multiply(k, false))
  return !r.isSmallOrder() && equalConstantTime(r.toBytes(), signature.subarray(0, 32))
}

/** Wipes only the current location of the bytes. JavaScript may have copied them earlier. */
export const wipe: Crypto['wipe'] = (bytes) => {
  bytes.fill(0)
}

function decodePoint(bytes: Uint8Array): Point | undefined {
  try {
    return Point.fromBytes(plain(bytes))
  } catch {
    return undefined
  }
}

/** noble accepts only plain arrays, and a Buffer is a subclass. */
function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength)
}

function littleEndian(bytes: Uint8Array): bigint {
  let hex = '0x'
  for (let index = bytes.length - 1; index >= 0; index--) hex += bytes[index]!.toString(16).padStart(2, '0')
  return BigInt(hex)
}
