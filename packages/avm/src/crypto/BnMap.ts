/** Maps field elements to points of BN254, by the method of Shallue and van de Woestijne (RFC 9380, section 6.6.1). */
import { bn254 } from '@noble/curves/bn254.js'
import { clearCofactor } from './Bn254G2.js'
import type { Point as AnyPoint, Pair } from './CurvePoint.js'

const { Fp, Fp2 } = bn254.fields
const G2 = bn254.G2.Point

type Field<T> = {
  readonly ZERO: T
  readonly ONE: T
  add(a: T, b: T): T
  sub(a: T, b: T): T
  mul(a: T, b: T | bigint): T
  sqr(a: T): T
  neg(a: T): T
  inv(a: T): T
  eql(a: T, b: T): boolean
  sqrt(a: T): T
}

type Affine<T> = { readonly x: T; readonly y: T }

/** Maps to G1, whose cofactor is 1. */
export function toG1(element: bigint): AnyPoint {
  return bn254.G1.Point.fromAffine(mapToG1()(element)) as unknown as AnyPoint
}

/** Maps to the subgroup of G2. */
export function toG2(element: Pair): AnyPoint {
  return clearCofactor(G2.fromAffine(mapToG2()(Fp2.create(element)))) as unknown as AnyPoint
}

// The constants take milliseconds to compute, which most programs need not wait for.
const mapToG1 = lazily(() => svdw(Fp, 3n, (value) => (value & 1n) === 1n))
const mapToG2 = lazily(() => svdw(Fp2, G2.CURVE().b, ({ c0, c1 }) => ((c0 === 0n ? c1 : c0) & 1n) === 1n))

function lazily<T>(create: () => T): () => T {
  let value: T | undefined
  return () => {
    value ??= create()
    return value
  }
}

/** The map of a curve y² = x³ + b with Z = 1. `isOdd` is the sign of RFC 9380, section 4.1. */
function svdw<T>(field: Field<T>, b: T, isOdd: (value: T) => boolean): (element: T) => Affine<T> {
  const z = field.ONE
  const curve = (x: T): T => field.add(field.mul(field.sqr(x), x), b)
  const c1 = curve(z)
  const c2 = field.neg(field.mul(z, field.inv(field.add(field.ONE, field.ONE))))
  const threeZ2 = field.mul(field.sqr(z), 3n)
  const root = field.sqrt(field.neg(field.mul(c1, threeZ2)))
  const c3 = isOdd(root) ? field.neg(root) : root
  const c4 = field.neg(field.mul(field.mul(c1, 4n), field.inv(threeZ2)))

  return (element) => {
    const t = field.mul(field.sqr(element), c1)
    const plus = field.add(field.ONE, t)
    const minus = field.sub(field.ONE, t)
    const inverse = inverseOrZero(field, field.mul(plus, minus))
    const offset = field.mul(field.mul(field.mul(element, minus), inverse), c3)
    const x3 = field.add(field.mul(field.sqr(field.mul(field.sqr(plus), inverse)), c4), z)
    for (const x of [field.sub(c2, offset), field.add(c2, offset), x3]) {
      const y = squareRoot(field, curve(x))
      if (y !== undefined) return { x, y: isOdd(element) === isOdd(y) ? y : field.neg(y) }
    }
    throw new RangeError('one of three candidates is always on the curve')
  }
}

function inverseOrZero<T>(field: Field<T>, value: T): T {
  return field.eql(value, field.ZERO) ? field.ZERO : field.inv(value)
}

function squareRoot<T>(field: Field<T>, value: T): T | undefined {
  try {
    return field.sqrt(value)
  } catch {
    return undefined
  }
}
