/** Elements of the scalar fields of the two pairing curves. */
import { bls12_381_Fr } from '@noble/curves/bls12-381.js'
import { bn254_Fr } from '@noble/curves/bn254.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { decodeInteger } from '../evaluator/Value.js'

/** A pairing curve. */
export type Curve = 'BN254' | 'BLS12_381'

/** The bytes of an element. */
export const elementBytes = 32

/** The number of elements of the field. */
export function orderOf(curve: Curve): bigint {
  return curve === 'BN254' ? bn254_Fr.ORDER : bls12_381_Fr.ORDER
}

/** Decodes elements, big-endian. Returns undefined if one is not below the order. */
export function decodeElements(data: Uint8Array, curve: Curve): bigint[] | undefined {
  const elements: bigint[] = []
  for (let offset = 0; offset < data.length; offset += elementBytes) {
    const element = decodeInteger(data.subarray(offset, offset + elementBytes))
    if (element >= orderOf(curve)) return undefined
    elements.push(element)
  }
  return elements
}

/** Constants without structure: Keccak-256 of the text, of that hash, and so on, without the first of them. */
export function constantsOf(seed: string, count: number, curve: Curve): bigint[] {
  let digest = keccak_256(new TextEncoder().encode(seed))
  return Array.from({ length: count }, () => {
    digest = keccak_256(digest)
    return decodeInteger(digest) % orderOf(curve)
  })
}

/** The fifth power, the S-box of both hashes. */
export function fifthPower(value: bigint, order: bigint): bigint {
  const square = (value * value) % order
  return (((square * square) % order) * value) % order
}
