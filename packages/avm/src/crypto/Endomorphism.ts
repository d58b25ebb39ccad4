/**
 * Multiples of points by the method of Gallant, Lambert and Vanstone (CRYPTO 2001). The map of (x, y) to (wx, y), with a
 * cube root w of one, multiplies points of the subgroup by a constant, so that a scalar splits into two of half the
 * length. For a point outside of the subgroup the result is not the multiple, but the recorded behaviour has the same.
 */

type Vector = readonly [bigint, bigint]

/** A short basis of the pairs (a, b) for which the map makes aP + bP zero. */
export type Basis = readonly [Vector, Vector]

const bnSeed = 4_965_661_367_192_848_881n
const blsSeedSquared = 0xd201000000010000n ** 2n

/** The basis of each curve, as polynomials of its seed. */
export const bases: { readonly BN254: Basis; readonly BLS12_381: Basis } = {
  BN254: [
    [6n * bnSeed ** 2n + 4n * bnSeed + 1n, 2n * bnSeed + 1n],
    [-2n * bnSeed - 1n, 6n * bnSeed ** 2n + 2n * bnSeed],
  ],
  BLS12_381: [
    [blsSeedSquared - 1n, -1n],
    [1n, blsSeedSquared],
  ],
}

/** Splits a scalar into two short ones. Quotients are truncated. */
export function split(scalar: bigint, [[a1, b1], [a2, b2]]: Basis): Vector {
  const determinant = a1 * b2 - b1 * a2
  const first = (scalar * b2) / determinant
  const second = (-scalar * b1) / determinant
  return [scalar - first * a1 - second * a2, -first * b1 - second * b2]
}

/** The constant by which the map multiplies points of a subgroup: a root of a + bx for each vector of the basis. */
export function eigenvalue([[a, b]]: Basis, order: bigint, invert: (value: bigint) => bigint): bigint {
  return (((-a * invert(((b % order) + order) % order)) % order) + order) % order
}
