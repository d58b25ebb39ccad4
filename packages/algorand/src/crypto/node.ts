/** Cryptography on Node: hashes by OpenSSL, Ed25519 by libsodium if sodium-native is installed. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  hash,
  randomBytes as randomBuffer,
  sign as signWithKey,
  timingSafeEqual,
  verify as verifyWithKey,
} from 'node:crypto'
import type { Crypto, Signing } from './Crypto.js'
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

// The fixed DER around the 32 bytes of a seed (RFC 8410, PKCS #8) and of a public key (SubjectPublicKeyInfo).
const privatePrefix = bytes('302e020100300506032b657004220420')
const publicPrefix = bytes('302a300506032b6570032100')
const keyLength = 32

/**
 * The encodings of the points of small order without the sign bit, including those with a coordinate of p or more:
 * table 6 of "Taming the many EdDSAs" (IACR ePrint 2020/1244). OpenSSL accepts them, libsodium does not.
 */
const smallOrder = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
].map(bytes)

/** Ed25519 by Node's own OpenSSL, for installations without sodium-native. */
export const openssl: Signing = {
  writeKeyPair(publicKeyOut, secretKeyOut, seed) {
    const publicKey = createPublicKey(privateKey(seed)).export({ format: 'der', type: 'spki' })
    publicKeyOut.set(publicKey.subarray(-keyLength))
    secretKeyOut.set(seed)
    secretKeyOut.set(publicKeyOut, keyLength)
  },
  sign(signatureOut, message, secretKey) {
    signatureOut.set(signWithKey(null, message, privateKey(secretKey.subarray(0, keyLength))))
  },
  verify(signature, message, publicKey) {
    const r = signature.subarray(0, keyLength)
    if (!isCanonical(publicKey) || isSmallOrder(publicKey) || isSmallOrder(r)) return false
    const key = Buffer.concat([publicPrefix, publicKey])
    return verifyWithKey(null, message, createPublicKey({ key, format: 'der', type: 'spki' }), signature)
  },
  wipe(memory) {
    memory.fill(0)
  },
}

function privateKey(seed: Uint8Array) {
  const key = Buffer.concat([privatePrefix, seed])
  try {
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  } finally {
    key.fill(0)
  }
}

/** Whether the coordinate is below p = 2^255 - 19. */
function isCanonical(point: Uint8Array): boolean {
  if ((point[31]! & 0x7f) !== 0x7f || point[0]! < 0xed) return true
  return point.subarray(1, 31).some((byte) => byte !== 0xff)
}

function isSmallOrder(point: Uint8Array): boolean {
  return smallOrder.some((known) =>
    known.every((byte, index) => byte === (index === 31 ? point[index]! & 0x7f : point[index])),
  )
}

function bytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, 'hex'))
}
