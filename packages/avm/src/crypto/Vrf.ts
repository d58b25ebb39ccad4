/**
 * Verifies proofs of the verifiable random function ECVRF-ED25519-SHA512-Elligator2 of draft-irtf-cfrg-vrf-03, which no
 * maintained library has.
 */
import { Bytes } from '@latchkey/algorand'
import { ed25519 } from '@noble/curves/ed25519.js'
import { bytesToNumberLE, numberToBytesLE } from '@noble/curves/utils.js'
import { sha512 } from '@noble/hashes/sha2.js'

const { Point } = ed25519
type Point = InstanceType<typeof Point>

/** The bytes of a proof. */
export const proofBytes = 80
/** The bytes of a public key. */
export const keyBytes = 32
/** The bytes of an output. */
export const outputBytes = 64

const suite = 0x04
const domains = { hashToCurve: 0x01, hashPoints: 0x02, output: 0x03 } as const
const challengeBytes = 16
/** The coefficient A of curve25519 in Montgomery form. */
const montgomeryA = 486_662n

/** Returns the output of a proof, or undefined if the proof is invalid. Lengths must have been checked. */
export function verify(publicKey: Uint8Array, proof: Uint8Array, message: Uint8Array): Uint8Array | undefined {
  const key = decodePoint(publicKey)
  const gamma = decodePoint(proof.subarray(0, 32))
  if (key === undefined || key.isSmallOrder() || gamma === undefined) return undefined
  const challenge = proof.subarray(32, 32 + challengeBytes)
  const c = bytesToNumberLE(challenge)
  const s = bytesToNumberLE(proof.subarray(32 + challengeBytes))
  if (s >= Point.Fn.ORDER) return undefined
  const h = hashToCurve(publicKey, message)
  const u = Point.BASE.multiplyUnsafe(s).subtract(key.multiplyUnsafe(c))
  const v = h.multiplyUnsafe(s).subtract(gamma.multiplyUnsafe(c))
  const expected = hashPoints([h, gamma, u, v]).subarray(0, challengeBytes)
  if (!Bytes.equal(challenge, expected)) return undefined
  return sha512(Bytes.concat([Uint8Array.of(suite, domains.output), gamma.clearCofactor().toBytes()]))
}

function decodePoint(bytes: Uint8Array): Point | undefined {
  try {
    return Point.fromBytes(bytes)
  } catch {
    return undefined
  }
}

function hashPoints(points: readonly Point[]): Uint8Array {
  return sha512(Bytes.concat([Uint8Array.of(suite, domains.hashPoints), ...points.map((point) => point.toBytes())]))
}

/** Section 5.4.1.2 of the draft. The x coordinate is the one with an even sign. */
function hashToCurve(publicKey: Uint8Array, message: Uint8Array): Point {
  const digest = sha512(Bytes.concat([Uint8Array.of(suite, domains.hashToCurve), publicKey, message])).slice(0, 32)
  digest[31]! &= 0x7f
  const { Fp } = Point
  const r = Fp.create(bytesToNumberLE(digest))
  const first = Fp.neg(Fp.div(montgomeryA, Fp.add(Fp.ONE, Fp.mul(2n, Fp.sqr(r)))))
  const w = Fp.mul(first, Fp.add(Fp.sqr(first), Fp.add(Fp.mul(montgomeryA, first), Fp.ONE)))
  const x = isSquare(w) ? first : Fp.sub(Fp.neg(montgomeryA), first)
  const y = Fp.div(Fp.sub(x, Fp.ONE), Fp.add(x, Fp.ONE))
  return Point.fromBytes(numberToBytesLE(y, 32)).clearCofactor()
}

function isSquare(value: bigint): boolean {
  const { Fp } = Point
  return Fp.eql(Fp.pow(value, (Fp.ORDER - 1n) / 2n), Fp.ONE)
}
