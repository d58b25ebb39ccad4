/** The subgroup of G2 of BN254, by its endomorphism of Frobenius, which is cheaper than multiples by the order. */
import { psiFrobenius } from '@noble/curves/abstract/tower.js'
import { bn254 } from '@noble/curves/bn254.js'
import { quadraticField } from './PointField.js'
import { sumOfMultiples } from './sumOfMultiples.js'

const { Fp, Fp2 } = bn254.fields
const G2 = bn254.G2.Point

/** A point of the curve, which may be outside of the subgroup. */
export type G2Point = typeof G2.BASE

/** The parameter of the curve family. */
const seed = 4_965_661_367_192_848_881n

const field = quadraticField(Fp.ORDER, (value) => Fp.inv(value))

let frobenius: ReturnType<typeof psiFrobenius> | undefined

function psi(point: G2Point): G2Point {
  // The constants take milliseconds to compute, which most programs need not wait for.
  frobenius ??= psiFrobenius(Fp, Fp2, Fp2.NONRESIDUE)
  return frobenius.G2psi(G2, point) as G2Point
}

function timesSeed(point: G2Point): G2Point {
  if (point.is0()) return point
  const multiple = sumOfMultiples(field, [point.toAffine()], [seed])
  return multiple === undefined ? G2.ZERO : G2.fromAffine(multiple)
}

/** Whether a point is in the subgroup (Dai, Lin, Zhao and Zhou, eprint 2022/348): (s + 1)P + ψ(sP) + ψ²(sP) = ψ³(2sP). */
export function isInSubgroup(point: G2Point): boolean {
  const multiple = timesSeed(point)
  const once = psi(multiple)
  const twice = psi(once)
  return multiple.add(point).add(once).add(twice).equals(psi(twice).double())
}

/** The method of Fuentes-Castañeda, Knapp and Rodríguez-Henríquez (SAC 2011), cheaper than the cofactor itself. */
export function clearCofactor(point: G2Point): G2Point {
  const multiple = timesSeed(point)
  const triple = multiple.double().add(multiple)
  return multiple
    .add(psi(triple))
    .add(psi(psi(multiple)))
    .add(psi(psi(psi(point))))
}
