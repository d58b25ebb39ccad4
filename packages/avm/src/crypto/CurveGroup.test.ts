import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import * as Bn254G2 from './Bn254G2.js'
import { CurveGroup } from './CurveGroup.js'
import type { Coordinate, Pair, Point } from './CurvePoint.js'

const libraries = { BN254: bn254, BLS12_381: bls12_381 } as const

type Field = { sqrt(value: Coordinate): Coordinate; ORDER: bigint } & {
  [name in 'add' | 'mul']: (a: Coordinate, b: Coordinate) => Coordinate
}
type Points = {
  BASE: Point
  ZERO: Point
  Fp: Field
  CURVE(): { b: Coordinate }
  fromAffine(point: { x: Coordinate; y: Coordinate }): Point
}

/** Points of a curve, most of them outside of the subgroup if there is one. */
function pointsOf(points: Points, degree: 1 | 2, count: number): Point[] {
  const { Fp } = points
  const found: Point[] = []
  for (let c0 = 0n; found.length < count; c0++) {
    const x: Coordinate = degree === 1 ? c0 : ({ c0, c1: c0 + 3n } as Pair)
    try {
      found.push(points.fromAffine({ x, y: Fp.sqrt(Fp.add(Fp.mul(Fp.mul(x, x), x), points.CURVE().b)) }))
    } catch {
      // This x coordinate has no point.
    }
  }
  return found
}

/** Multiplies bit by bit, with the formulas of the library. */
function multiple(zero: Point, point: Point, scalar: bigint): Point {
  let sum = zero
  for (const bit of scalar.toString(2)) {
    sum = sum.double()
    if (bit === '1') sum = sum.add(point)
  }
  return sum
}

for (const curve of ['BN254', 'BLS12_381'] as const) {
  for (const degree of [1, 2] as const) {
    const group = new CurveGroup(curve, degree)
    const library = libraries[curve][degree === 1 ? 'G1' : 'G2'].Point as unknown as Points
    const { BASE, ZERO } = library

    test(`${curve} G${degree}: sums of multiples of any points`, () => {
      const [a, b, c] = pointsOf(library, degree, 3) as [Point, Point, Point]
      const large = 0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeen
      const cases: [Point[], bigint[]][] = [
        [[a], [0n]],
        [[a], [1n]],
        [
          [a, ZERO, b],
          [large, 5n, 3n],
        ],
        [
          [a, a, a],
          [large, large, 7n],
        ],
        [
          [a, a.negate()],
          [large, large],
        ],
        [
          [a, b, c, BASE],
          [large, large - 1n, 2n, 12345678901234567890n],
        ],
        [
          [a.add(b), a.add(b)],
          [9n, 16n],
        ],
      ]
      for (const [points, scalars] of cases) {
        const expected = points.reduce((sum, point, index) => sum.add(multiple(ZERO, point, scalars[index]!)), ZERO)
        assert.ok(group.sumOfMultiples(points, scalars).equals(expected), `${scalars}`)
      }
    })

    test(`${curve} G${degree}: multiples in the subgroup, and membership`, () => {
      for (const scalar of [0n, 1n, 2n, 3n, group.order - 1n, group.order, (1n << 256n) - 1n]) {
        assert.ok(group.multiply(BASE, scalar).equals(multiple(ZERO, BASE, scalar)), `${scalar}`)
      }
      for (const point of [ZERO, BASE, BASE.double(), ...pointsOf(library, degree, 4)]) {
        const expected = multiple(ZERO, point, group.order).is0()
        assert.equal(group.isInSubgroup(point), expected)
      }
    })
  }
}

test('points of a small order are added and doubled', () => {
  const group = new CurveGroup('BLS12_381', 1)
  const { ZERO, fromAffine } = bls12_381.G1.Point
  const point = fromAffine.call(bls12_381.G1.Point, { x: 0n, y: 2n }) as unknown as Point
  const zero = ZERO as unknown as Point
  for (let scalar = 0n; scalar < 30n; scalar++) {
    assert.ok(group.sumOfMultiples([point, point], [scalar, 1n]).equals(multiple(zero, point, scalar + 1n)))
  }
})

test('the multiples of a point by the cofactor of G2 are in the subgroup', () => {
  const [point] = pointsOf(bn254.G2.Point as unknown as Points, 2, 1)
  const outside = point as unknown as Bn254G2.G2Point
  assert.equal(Bn254G2.isInSubgroup(outside), false)
  assert.equal(Bn254G2.isInSubgroup(Bn254G2.clearCofactor(outside)), true)
})
