/** ECDSA on secp256k1 and secp256r1. */

import { Bytes } from '@latchkey/algorand'
import { p256 } from '@noble/curves/nist.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { decodeInteger, encodeInteger } from '../evaluator/Value.js'

/** The name of a curve. */
export type CurveName = 'Secp256k1' | 'Secp256r1'

/** A point of a curve as two coordinates of 32 bytes. */
export type Coordinates = readonly [x: Uint8Array, y: Uint8Array]

const coordinateBytes = 32
const maxCoordinate = 1n << 256n

/** A signature of a hash and the public key, as numbers. */
export type Signed = {
  readonly hash: Uint8Array
  readonly r: Uint8Array
  readonly s: Uint8Array
  readonly x: Uint8Array
  readonly y: Uint8Array
}

/** Whether a signature is valid. On secp256k1, only the lower of the two possible values of s is. */
export function verify(name: CurveName, { hash, r, s, x, y }: Signed): boolean {
  const curve = name === 'Secp256k1' ? secp256k1 : p256
  const numbers = [r, s, x, y].map(decodeInteger)
  if (numbers.some((number) => number >= maxCoordinate)) return false
  const [rBytes, sBytes, xBytes, yBytes] = numbers.map((number) => encodeInteger(number, coordinateBytes))
  try {
    return curve.verify(Bytes.concat([rBytes!, sBytes!]), hash, Bytes.concat([Uint8Array.of(0x04), xBytes!, yBytes!]), {
      prehash: false,
      lowS: name === 'Secp256k1',
    })
  } catch {
    return false
  }
}

/** Decompresses a public key. Returns undefined if it is not one. */
export function decompress(name: CurveName, key: Uint8Array): Coordinates | undefined {
  const { Point } = name === 'Secp256k1' ? secp256k1 : p256
  if (key.length !== coordinateBytes + 1) return undefined
  try {
    return coordinatesOf(Point.fromBytes(key))
  } catch {
    return undefined
  }
}

/** Recovers the public key of a signature on secp256k1. Returns undefined if there is none. */
export function recover(hash: Uint8Array, recovery: number, r: Uint8Array, s: Uint8Array): Coordinates | undefined {
  try {
    const signature = new secp256k1.Signature(decodeInteger(r), decodeInteger(s), recovery)
    return coordinatesOf(signature.recoverPublicKey(hash))
  } catch {
    return undefined
  }
}

function coordinatesOf(point: { toAffine(): { x: bigint; y: bigint } }): Coordinates {
  const { x, y } = point.toAffine()
  return [encodeInteger(x, coordinateBytes), encodeInteger(y, coordinateBytes)]
}
