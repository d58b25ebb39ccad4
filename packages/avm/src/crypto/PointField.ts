/**
 * The fields of the coordinates of points. Products of the quadratic field are reduced once for each part, which takes
 * half of the time that general fields of a tower take.
 */
import type { Coordinate, Pair } from './CurvePoint.js'

/** Arithmetic of coordinates. Elements are not negative and below the modulus. */
export type PointField<T> = {
  readonly one: T
  isZero(a: T): boolean
  isEqual(a: T, b: T): boolean
  add(a: T, b: T): T
  sub(a: T, b: T): T
  mul(a: T, b: T): T
  square(a: T): T
  invert(a: T): T
}

/** The inverse in a prime field. */
type Invert = (value: bigint) => bigint

/** The prime field. */
export function primeField(modulus: bigint, invert: Invert): PointField<bigint> {
  return {
    one: 1n,
    isZero: (a) => a === 0n,
    isEqual: (a, b) => a === b,
    add: (a, b) => {
      const sum = a + b
      return sum < modulus ? sum : sum - modulus
    },
    sub: (a, b) => (a < b ? a - b + modulus : a - b),
    mul: (a, b) => (a * b) % modulus,
    square: (a) => (a * a) % modulus,
    invert,
  }
}

/** The field with a root of -1, which both pairing curves have. */
export function quadraticField(modulus: bigint, invert: Invert): PointField<Pair> {
  const { add, sub } = primeField(modulus, invert)
  const modulusSquared = modulus * modulus
  return {
    one: { c0: 1n, c1: 0n },
    isZero: ({ c0, c1 }) => c0 === 0n && c1 === 0n,
    isEqual: (a, b) => a.c0 === b.c0 && a.c1 === b.c1,
    add: (a, b) => ({ c0: add(a.c0, b.c0), c1: add(a.c1, b.c1) }),
    sub: (a, b) => ({ c0: sub(a.c0, b.c0), c1: sub(a.c1, b.c1) }),
    mul: (a, b) => {
      const first = a.c0 * b.c0
      const second = a.c1 * b.c1
      const both = (a.c0 + a.c1) * (b.c0 + b.c1)
      return { c0: (first - second + modulusSquared) % modulus, c1: (both - first - second) % modulus }
    },
    square: ({ c0, c1 }) => ({ c0: ((c0 + c1) * (c0 - c1 + modulus)) % modulus, c1: (2n * c0 * c1) % modulus }),
    invert: ({ c0, c1 }) => {
      const inverse = invert((c0 * c0 + c1 * c1) % modulus)
      return { c0: (c0 * inverse) % modulus, c1: ((modulus - c1) * inverse) % modulus }
    },
  }
}

/** Either field, by the degree of its extension. */
export function pointField(degree: 1 | 2, modulus: bigint, invert: Invert): PointField<Coordinate> {
  const field = degree === 1 ? primeField(modulus, invert) : quadraticField(modulus, invert)
  return field as PointField<Coordinate>
}
