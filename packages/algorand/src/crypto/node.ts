/** Cryptography on Node: hashes by OpenSSL, ed25519 by libsodium if sodium-native is installed. */
import { createHmac, hash, randomBytes as randomBuffer, timingSafeEqual } from 'node:crypto'
import type { Crypto, Signing } from './Crypto.js'
import { openssl } from './openssl.js'
import { fromSodium, load } from './sodium.js'

const sodium = load()

export const { writeKeyPair, sign, verify, wipe }: Signing = sodium === undefined ? openssl : fromSodium(sodium)

export const sha256: Crypto['sha256'] = (data) => digest('sha256', data)
export const sha512_256: Crypto['sha512_256'] = (data) => digest('sha512-256', data)
export const hmacSha256: Crypto['hmacSha256'] = (key, data) => hmac('sha256', key, data)
export const hmacSha512_256: Crypto['hmacSha512_256'] = (key, data) => hmac('sha512-256', key, data)
export const randomBytes: Crypto['randomBytes'] = (length) => new Uint8Array(randomBuffer(length))
export const equalConstantTime: Crypto['equalConstantTime'] = (a, b) => a.length === b.length && timingSafeEqual(a, b)

const digestLength = 32

/** Of all ways to get a short hash from Node, this takes less than half the time of any that makes a Buffer. */
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
