import { createPrivateKey, createPublicKey, sign as signWithKey, verify as verifyWithKey } from 'node:crypto'
import type { Signing } from './Platform.js'

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
