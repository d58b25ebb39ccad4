/** Points of curves and their coordinates. */

/** A coordinate in the extension field of degree 2: the real and the imaginary part. */
export type Pair = { readonly c0: bigint; readonly c1: bigint }

/** A coordinate. */
export type Coordinate = bigint | Pair

/** A point, as far as this module needs it. */
export type Point = {
  toAffine(): { x: Coordinate; y: Coordinate }
  is0(): boolean
  add(other: Point): Point
  double(): Point
  negate(): Point
  equals(other: Point): boolean
  multiplyUnsafe(scalar: bigint): Point
  isTorsionFree(): boolean
}
