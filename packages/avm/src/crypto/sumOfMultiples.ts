/**
 * Sums of multiples of points of curves y² = x³ + b, by interleaving (Möller, "Algorithms for multi-exponentiation", SAC
 * 2001): all multiples share their doublings, and each scalar has few digits that are not zero. The formulas are
 * dbl-2009-l and madd-2007-bl of the Explicit-Formulas Database.
 */
import type { PointField } from './PointField.js'

/** A point as two coordinates, or undefined for infinity. */
export type Affine<T> = { readonly x: T; readonly y: T } | undefined

/** A point with the coordinates x/z² and y/z³, or undefined for infinity. */
type Jacobian<T> = { readonly x: T; readonly y: T; readonly z: T } | undefined

/** Digits are odd numbers of this many bits and a sign, and multiples of a point are kept for each. */
const digitBits = 3

/** The sum of multiples of points, which may have any order. Scalars are not negative. */
export function sumOfMultiples<T>(
  field: PointField<T>,
  points: readonly Affine<T>[],
  scalars: readonly bigint[],
): Affine<T> {
  const tables = oddMultiples(field, points)
  const digits = scalars.map(digitsOf)
  let sum: Jacobian<T>
  for (let place = Math.max(...digits.map(({ length }) => length)) - 1; place >= 0; place--) {
    sum = double(field, sum)
    for (const [index, table] of tables.entries()) {
      const digit = digits[index]![place] ?? 0
      if (digit > 0) sum = add(field, sum, table[digit >> 1])
      else if (digit < 0) sum = add(field, sum, negated(field, table[-digit >> 1]))
    }
  }
  return normalized(field, [sum])[0]
}

/** The digits of a scalar, lowest first: zero, or odd and followed by zeros (w-NAF). */
function digitsOf(scalar: bigint): number[] {
  const digits: number[] = []
  const modulus = 2 << digitBits
  for (let rest = scalar; rest > 0n; rest >>= 1n) {
    let digit = 0
    if ((rest & 1n) === 1n) {
      digit = Number(rest & BigInt(modulus - 1))
      if (digit > modulus / 2) digit -= modulus
      rest -= BigInt(digit)
    }
    digits.push(digit)
  }
  return digits
}

/** The multiples by 1, 3, 5 and 7 of each point. */
function oddMultiples<T>(field: PointField<T>, points: readonly Affine<T>[]): Affine<T>[][] {
  const doubled = normalized(
    field,
    points.map((point) => double(field, jacobian(field, point))),
  )
  const multiples = points.map((point, index) => {
    const list = [jacobian(field, point)]
    while (list.length < 1 << (digitBits - 1)) list.push(add(field, list.at(-1), doubled[index]))
    return list
  })
  const all = normalized(field, multiples.flat())
  return multiples.map(({ length }, index) => all.slice(length * index, length * (index + 1)))
}

function jacobian<T>({ one }: PointField<T>, point: Affine<T>): Jacobian<T> {
  return point && { ...point, z: one }
}

function negated<T>(field: PointField<T>, point: Affine<T>): Affine<T> {
  return point && { x: point.x, y: field.sub(field.sub(point.y, point.y), point.y) }
}

function double<T>(field: PointField<T>, point: Jacobian<T>): Jacobian<T> {
  // A point with the y coordinate zero has order 2.
  if (point === undefined || field.isZero(point.y)) return undefined
  const twice = (value: T): T => field.add(value, value)
  const a = field.square(point.x)
  const b = field.square(point.y)
  const c = field.square(b)
  const d = twice(field.sub(field.sub(field.square(field.add(point.x, b)), a), c))
  const e = field.add(twice(a), a)
  const x = field.sub(field.square(e), twice(d))
  const y = field.sub(field.mul(e, field.sub(d, x)), twice(twice(twice(c))))
  return { x, y, z: twice(field.mul(point.y, point.z)) }
}

function add<T>(field: PointField<T>, a: Jacobian<T>, b: Affine<T>): Jacobian<T> {
  if (b === undefined) return a
  if (a === undefined) return jacobian(field, b)
  const twice = (value: T): T => field.add(value, value)
  const z2 = field.square(a.z)
  const h = field.sub(field.mul(b.x, z2), a.x)
  const s = field.sub(field.mul(field.mul(b.y, a.z), z2), a.y)
  if (field.isZero(h)) return field.isZero(s) ? double(field, a) : undefined
  const h2 = field.square(h)
  const i = twice(twice(h2))
  const j = field.mul(h, i)
  const r = twice(s)
  const v = field.mul(a.x, i)
  const x = field.sub(field.sub(field.square(r), j), twice(v))
  const y = field.sub(field.mul(r, field.sub(v, x)), twice(field.mul(a.y, j)))
  return { x, y, z: field.sub(field.sub(field.square(field.add(a.z, h)), z2), h2) }
}

/** Coordinates of points, with one inversion for all of them (Montgomery). */
function normalized<T>(field: PointField<T>, points: readonly Jacobian<T>[]): Affine<T>[] {
  const products: T[] = []
  let product = field.one
  for (const point of points) {
    products.push(product)
    if (point !== undefined) product = field.mul(product, point.z)
  }
  let inverse = field.invert(product)
  const result: Affine<T>[] = []
  for (let index = points.length - 1; index >= 0; index--) {
    const point = points[index]
    if (point === undefined) {
      result[index] = undefined
      continue
    }
    const z = field.mul(inverse, products[index]!)
    inverse = field.mul(inverse, point.z)
    const z2 = field.square(z)
    result[index] = { x: field.mul(point.x, z2), y: field.mul(field.mul(point.y, z2), z) }
  }
  return result
}
