/** Browsers and edge runtimes: texts by the web platform, cryptography in pure JavaScript. */
import { hashes, Point, sign as signWithSeed } from '@noble/ed25519'
import { hmac } from '@noble/hashes/hmac.js'
import * as sha2 from '@noble/hashes/sha2.js'
import type { Platform } from './Platform.js'

const strict = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const lossy = /* @__PURE__ */ new TextDecoder('utf-8', { ignoreBOM: true })
/** The number of arguments that a call can take without risking a stack overflow. */
const maxArguments = 4096
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** The value of each character code, or 255 if the character is not in the alphabet. */
const values = new Uint8Array(128).fill(255)
for (let value = 0; value < alphabet.length; value++) values[alphabet.charCodeAt(value)] = value

export const isUtf8: Platform['isUtf8'] = (bytes) => decodeUtf8(bytes) !== undefined

export const decodeUtf8: Platform['decodeUtf8'] = (bytes) => {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

export const decodeUtf8Lossy: Platform['decodeUtf8Lossy'] = (bytes) => lossy.decode(bytes)

export const decodeLatin1: Platform['decodeLatin1'] = (bytes) => {
  let text = ''
  for (let start = 0; start < bytes.length; start += maxArguments) {
    text += String.fromCharCode(...bytes.subarray(start, start + maxArguments))
  }
  return text
}

export const encodeBase64: Platform['encodeBase64'] = (bytes) => {
  let text = ''
  for (let index = 0; index < bytes.length; index += 3) {
    const [first, second, third] = [bytes[index]!, bytes[index + 1], bytes[index + 2]]
    text += alphabet[first >> 2]
    text += alphabet[((first & 3) << 4) | ((second ?? 0) >> 4)]
    text += second === undefined ? '=' : alphabet[((second & 15) << 2) | ((third ?? 0) >> 6)]
    text += third === undefined ? '=' : alphabet[third & 63]
  }
  return text
}

export const decodeBase64: Platform['decodeBase64'] = (text) => {
  if (text.length % 4 !== 0) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const out = new Uint8Array((text.length / 4) * 3 - padding)
  let buffer = 0
  let bits = 0
  let length = 0
  for (let index = 0; index < text.length - padding; index++) {
    const code = text.charCodeAt(index)
    const value = code < 128 ? values[code]! : 255
    if (value === 255) return undefined
    buffer = ((buffer & 0xff) << 6) | value
    bits += 6
    if (bits < 8) continue
    bits -= 8
    out[length++] = (buffer >>> bits) & 0xff
  }
  // Nonzero bits past the last byte would be a second spelling of the same bytes.
  return (buffer & ((1 << bits) - 1)) === 0 ? out : undefined
}

export const encodeHex: Platform['encodeHex'] = (bytes) => {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

const wordBytes = 4

export const isEqual: Platform['isEqual'] = (a, b) => {
  const { length } = a
  const end = length - (length % wordBytes)
  const [first, second] = [viewOf(a), viewOf(b)]
  for (let index = 0; index < end; index += wordBytes) {
    if (first.getUint32(index) !== second.getUint32(index)) return false
  }
  for (let index = end; index < length; index++) if (a[index] !== b[index]) return false
  return true
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** Browsers do not support this. */
export const markAsUntransferable: Platform['markAsUntransferable'] = () => {}

const seedLength = 32
/**
 * The order L of the base point. No noble code runs at the top level, so a bundle that neither signs nor verifies can
 * omit it.
 */
const order = 0x1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3edn
const maxRandomBytes = 65_536

export const sha256: Platform['sha256'] = (data) => sha2.sha256(data)
export const sha512_256: Platform['sha512_256'] = (data) => sha2.sha512_256(data)
export const hmacSha256: Platform['hmacSha256'] = (key, data) => hmac(sha2.sha256, key, data)
export const hmacSha512_256: Platform['hmacSha512_256'] = (key, data) => hmac(sha2.sha512_256, key, data)

export const randomBytes: Platform['randomBytes'] = (length) => {
  const bytes = new Uint8Array(length)
  // The limit of one Web Crypto call.
  for (let start = 0; start < length; start += maxRandomBytes) {
    globalThis.crypto.getRandomValues(bytes.subarray(start, start + maxRandomBytes))
  }
  return bytes
}

export const equalConstantTime: Platform['equalConstantTime'] = (a, b) => {
  if (a.length !== b.length) return false
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= a[index]! ^ b[index]!
  return difference === 0
}

export const writeKeyPair: Platform['writeKeyPair'] = (publicKeyOut, secretKeyOut, seed) => {
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

export const sign: Platform['sign'] = (signatureOut, message, secretKey) => {
  hashes.sha512 = sha2.sha512
  signatureOut.set(signWithSeed(plain(message), plain(secretKey.subarray(0, seedLength))))
}

// Not noble's own `verify`, which multiplies by the cofactor and accepts R of small order.
export const verify: Platform['verify'] = (signature, message, publicKey) => {
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
export const wipe: Platform['wipe'] = (bytes) => {
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
