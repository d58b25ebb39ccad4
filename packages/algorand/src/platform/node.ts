/** Node: texts by Buffer, hashes by OpenSSL, Ed25519 by libsodium if sodium-native is installed. */
import { isUtf8 as isUtf8InNode } from 'node:buffer'
import { createHmac, hash, randomBytes as randomBuffer, timingSafeEqual } from 'node:crypto'
import { markAsUntransferable as mark } from 'node:worker_threads'
import { openssl } from './openssl.js'
import type { Platform, Signing } from './Platform.js'
import { fromSodium, load } from './sodium.js'

// Called on plain arrays, because converting a short one to a Buffer moves its bytes out of the heap, which costs more
// than the rest of the call.
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string
}

export const isUtf8: Platform['isUtf8'] = (bytes) => isUtf8InNode(bytes)
export const decodeUtf8: Platform['decodeUtf8'] = (bytes) => (isUtf8(bytes) ? decodeUtf8Lossy(bytes) : undefined)
export const decodeUtf8Lossy: Platform['decodeUtf8Lossy'] = (bytes) => buffer(bytes).toString('utf8')
export const decodeLatin1: Platform['decodeLatin1'] = (bytes) => latin1Slice.call(bytes, 0, bytes.length)
export const encodeBase64: Platform['encodeBase64'] = (bytes) => buffer(bytes).toString('base64')
export const encodeHex: Platform['encodeHex'] = (bytes) => buffer(bytes).toString('hex')
export const isEqual: Platform['isEqual'] = (a, b) => Buffer.compare(a, b) === 0
export const markAsUntransferable: Platform['markAsUntransferable'] = (memory) => mark(memory)

export const decodeBase64: Platform['decodeBase64'] = (text) => {
  const pooled = Buffer.from(text, 'base64')
  // Node skips foreign characters and ignores bits past the last byte. Encoding again reveals both.
  const bytes = pooled.toString('base64') === text ? new Uint8Array(pooled) : undefined
  // The text may have been a key, and the pool outlives the caller's copy.
  pooled.fill(0)
  return bytes
}

function buffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

let chosen: Signing | undefined

/** Chosen on first use, because loading libsodium takes longer than everything else that most commands do. */
function signing(): Signing {
  if (chosen !== undefined) return chosen
  const sodium = load()
  chosen = sodium === undefined ? openssl : fromSodium(sodium)
  return chosen
}

export const writeKeyPair: Signing['writeKeyPair'] = (publicKeyOut, secretKeyOut, seed) =>
  signing().writeKeyPair(publicKeyOut, secretKeyOut, seed)
export const sign: Signing['sign'] = (signatureOut, message, secretKey) =>
  signing().sign(signatureOut, message, secretKey)
export const verify: Signing['verify'] = (signature, message, publicKey) =>
  signing().verify(signature, message, publicKey)
/** Wiping is not a reason to load libsodium. */
export const wipe: Signing['wipe'] = (bytes) => (chosen ?? openssl).wipe(bytes)

export const sha256: Platform['sha256'] = (data) => digest('sha256', data)
export const sha512_256: Platform['sha512_256'] = (data) => digest('sha512-256', data)
export const hmacSha256: Platform['hmacSha256'] = (key, data) => hmac('sha256', key, data)
export const hmacSha512_256: Platform['hmacSha512_256'] = (key, data) => hmac('sha512-256', key, data)
export const randomBytes: Platform['randomBytes'] = (length) => new Uint8Array(randomBuffer(length))
export const equalConstantTime: Platform['equalConstantTime'] = (a, b) => a.length === b.length && timingSafeEqual(a, b)

const digestLength = 32

/** The fastest way to get a short hash from Node: less than half the time of any way that creates a Buffer. */
function digest(algorithm: string, data: Uint8Array): Uint8Array {
  const text = hash(algorithm, data, 'binary')
  const out = new Uint8Array(digestLength)
  for (let index = 0; index < digestLength; index++) out[index] = text.charCodeAt(index)
  return out
}

function hmac(algorithm: string, key: Uint8Array, data: Uint8Array): Uint8Array {
  const buffer = createHmac(algorithm, key).update(data).digest()
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
}
