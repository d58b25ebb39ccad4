/** The groups of the pairing curves BN254 and BLS12-381, with points as programs write them. */
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import { decodeInteger, encodeInteger } from '../evaluator/Value.js'
import * as Bn254G2 from './Bn254G2.js'
import * as BnMap from './BnMap.js'
import type { Coordinate, Pair, Point } from './CurvePoint.js'
import * as Endomorphism from './Endomorphism.js'
import { type PointField, pointField } from './PointField.js'
import { sumOfMultiples } from './sumOfMultiples.js'

const curves = { BN254: bn254, BLS12_381: bls12_381 } as const
type CurveName = keyof typeof curves

type Field<T> = {
  readonly ORDER: bigint
  readonly ZERO: T
  eql(a: T, b: T): boolean
  add(a: T, b: T): T
  mul(a: T, b: T | bigint): T
  sqr(a: T): T
}

type PointConstructor = {
  readonly BASE: Point
  readonly ZERO: Point
  readonly Fp: Field<Coordinate>
  fromAffine(point: { x: Coordinate; y: Coordinate }): Point
  CURVE(): { readonly b: Coordinate }
}

/** A group of points of a pairing curve. */
export class CurveGroup {
  /** The degree of the field of the coordinates over the prime field. */
  readonly degree: 1 | 2
  /** The bytes of an element of the prime field. */
  readonly elementBytes: number
  /** The bytes of a coordinate. */
  readonly coordinateBytes: number
  /** The bytes of a point. */
  readonly pointBytes: number
  /** The order of the group that pairings use. */
  readonly order: bigint
  readonly #curve: CurveName
  readonly #points: PointConstructor
  readonly #modulus: bigint
  readonly #field: PointField<Coordinate>
  #root: bigint | undefined

  constructor(curve: CurveName, degree: 1 | 2) {
    const { fields, G1, G2 } = curves[curve]
    this.#curve = curve
    this.degree = degree
    this.#points = (degree === 1 ? G1.Point : G2.Point) as unknown as PointConstructor
    this.#modulus = fields.Fp.ORDER
    this.#field = pointField(degree, this.#modulus, (value) => fields.Fp.inv(value))
    this.order = fields.Fr.ORDER
    this.elementBytes = fields.Fp.BYTES
    this.coordinateBytes = degree * this.elementBytes
    this.pointBytes = 2 * this.coordinateBytes
  }

  /** Decodes a coordinate. Returns the problem if a part of it is not below the modulus. */
  decodeCoordinate(bytes: Uint8Array): Coordinate | string {
    if (this.degree === 1) return this.#decodeElement(bytes)
    const c0 = this.#decodeElement(bytes.subarray(0, this.elementBytes))
    if (typeof c0 === 'string') return c0
    const c1 = this.#decodeElement(bytes.subarray(this.elementBytes))
    return typeof c1 === 'string' ? c1 : { c0, c1 }
  }

  /** Decodes a point of the curve. Returns the problem with it. It need not be in the subgroup. */
  decodePoint(bytes: Uint8Array): Point | string {
    if (bytes.every((byte) => byte === 0)) return this.#points.ZERO
    const x = this.decodeCoordinate(bytes.subarray(0, this.coordinateBytes))
    if (typeof x === 'string') return x
    const y = this.decodeCoordinate(bytes.subarray(this.coordinateBytes))
    if (typeof y === 'string') return y
    const { Fp } = this.#points
    const right = Fp.add(Fp.mul(Fp.sqr(x), x), this.#points.CURVE().b)
    return Fp.eql(Fp.sqr(y), right) ? this.#points.fromAffine({ x, y }) : 'point not on curve'
  }

  /** Encodes a point: x and y, or zeros for infinity. */
  encodePoint(point: Point): Uint8Array {
    const bytes = new Uint8Array(this.pointBytes)
    if (point.is0()) return bytes
    const { x, y } = point.toAffine()
    bytes.set(this.#encodeCoordinate(x), 0)
    bytes.set(this.#encodeCoordinate(y), this.coordinateBytes)
    return bytes
  }

  /** Whether a point is in the subgroup that pairings use. */
  isInSubgroup(point: Point): boolean {
    if (point.is0()) return true
    if (this.#curve === 'BN254' && this.degree === 2) return Bn254G2.isInSubgroup(point as unknown as Bn254G2.G2Point)
    return point.isTorsionFree()
  }

  /** Multiplies a point. Points outside of the subgroup have other multiples; see {@link Endomorphism}. */
  multiply(point: Point, scalar: bigint): Point {
    if (point.is0()) return point
    const [first, second] = Endomorphism.split(scalar, Endomorphism.bases[this.#curve])
    const rotated = this.#rotate(point, this.#cubeRoot())
    const points = [first < 0n ? point.negate() : point, second < 0n ? rotated.negate() : rotated]
    return this.#sum(points, [first < 0n ? -first : first, second < 0n ? -second : second])
  }

  /** The sum of multiples, much faster than one by one. */
  sumOfMultiples(points: readonly Point[], scalars: readonly bigint[]): Point {
    return this.#sum(
      points,
      scalars.map((scalar) => scalar % this.order),
    )
  }

  #sum(points: readonly Point[], scalars: readonly bigint[]): Point {
    const coordinates = points.map((point) => (point.is0() ? undefined : point.toAffine()))
    const sum = sumOfMultiples(this.#field, coordinates, scalars)
    return sum === undefined ? this.#points.ZERO : this.#points.fromAffine(sum)
  }

  /** Maps an element of the field to a point of the subgroup. */
  map(element: Coordinate): Point {
    if (this.#curve === 'BN254') {
      return this.degree === 1 ? BnMap.toG1(element as bigint) : BnMap.toG2(element as Pair)
    }
    const { G1, G2 } = bls12_381
    // The map of G1 takes a number, although its type says a list.
    if (typeof element === 'bigint') return G1.mapToCurve(element as unknown as bigint[]) as unknown as Point
    return G2.mapToCurve([element.c0, element.c1]) as unknown as Point
  }

  #rotate(point: Point, root: bigint): Point {
    const { x, y } = point.toAffine()
    return this.#points.fromAffine({ x: this.#points.Fp.mul(x, root), y })
  }

  /** The cube root of one whose map is the multiplication by the eigenvalue. */
  #cubeRoot(): bigint {
    if (this.#root !== undefined) return this.#root
    const { Fp, Fr } = curves[this.#curve].fields
    const value = Endomorphism.eigenvalue(Endomorphism.bases[this.#curve], this.order, (number) => Fr.inv(number))
    const root = Fp.div(Fp.sub(Fp.sqrt(Fp.create(-3n)), Fp.ONE), 2n)
    const { BASE } = this.#points
    const isRoot = this.#rotate(BASE, root).equals(BASE.multiplyUnsafe(value))
    this.#root = isRoot ? root : Fp.sqr(root)
    return this.#root
  }

  #decodeElement(bytes: Uint8Array): bigint | string {
    const element = decodeInteger(bytes)
    return element < this.#modulus ? element : `field element ${element} larger than modulus ${this.#modulus}`
  }

  #encodeCoordinate(value: Coordinate): Uint8Array {
    if (typeof value === 'bigint') return encodeInteger(value, this.elementBytes)
    const bytes = new Uint8Array(this.coordinateBytes)
    bytes.set(encodeInteger(value.c0, this.elementBytes), 0)
    bytes.set(encodeInteger(value.c1, this.elementBytes), this.elementBytes)
    return bytes
  }
}

/** Whether the product of the pairings is one. The points must be in the subgroups. */
export function isPairingOne(curve: CurveName, g1: readonly Point[], g2: readonly Point[]): boolean {
  const { millerLoopBatch, utils, fields } = curves[curve]
  type Lines = Parameters<typeof millerLoopBatch>[0]
  // Unlike `pairingBatch`, this does not check the subgroups of the points once more.
  const lines: Lines = []
  for (const [index, point] of g1.entries()) {
    const other = g2[index]!
    if (point.is0() || other.is0()) continue
    const { x, y } = point.toAffine() as { x: bigint; y: bigint }
    lines.push([utils.calcPairingPrecomputes(other as unknown as Bn254G2.G2Point), x, y])
  }
  const { Fp12 } = fields
  return lines.length === 0 || Fp12.eql(Fp12.finalExponentiate(millerLoopBatch(lines)), Fp12.ONE)
}
