/** Cryptography on Node: hashes by OpenSSL, Ed25519 by libsodium if sodium-native is installed. */
import { createHmac, hash, randomBytes as randomBuffer, timingSafeEqual } from 'node:crypto'
import type { Crypto, Signing } from './Crypto.js'
import { openssl } from './openssl.js'
import { fromSodium, load } from './sodium.js'

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

export const sha256: Crypto['sha256'] = (data) => digest('sha256', data)
export const sha512_256: Crypto['sha512_256'] = (data) => digest('sha512-256', data)
export const hmacSha256: Crypto['hmacSha256'] = (key, data) => hmac('sha256', key, data)
export const hmacSha512_256: Crypto['hmacSha512_256'] = (key, data) => hmac('sha512-256', key, data)
export const randomBytes: Crypto['randomBytes'] = (length) => new Uint8Array(randomBuffer(length))
export const equalConstantTime: Crypto['equalConstantTime'] = (a, b) => a.length === b.length && timingSafeEqual(a, b)

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
