/** Operations on the groups of the pairing curves. */
import { CurveGroup, isPairingOne } from '../crypto/CurveGroup.js'
import type { Point } from '../crypto/CurvePoint.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import { decodeInteger, fromBoolean } from '../evaluator/Value.js'
import * as Fields from '../opcodes/Fields.js'
import { type Operations, pure, zero } from './Operation.js'

const scalarBytes = 32

type Selected = { readonly curve: 'BN254' | 'BLS12_381'; readonly group: CurveGroup }

const groups = {
  BN254: [new CurveGroup('BN254', 1), new CurveGroup('BN254', 2)],
  BLS12_381: [new CurveGroup('BLS12_381', 1), new CurveGroup('BLS12_381', 2)],
} as const

/** Operations on points. */
export const curves: Operations = {
  ec_add: (machine) => {
    const { group } = selected(machine)
    pure((a: Uint8Array, b: Uint8Array) => {
      const [first, second] = [onePoint(a, group), onePoint(b, group)]
      return group.encodePoint(first.add(second))
    }, zero)(machine)
  },
  ec_scalar_mul: (machine) => {
    const { group } = selected(machine)
    const length = (machine.stack.at(-1) as Uint8Array).length
    if (length > scalarBytes) {
      throw new EvaluationError(`ec_scalar_mul scalar len is ${length}, exceeds ${scalarBytes}`)
    }
    pure((point: Uint8Array, scalar: Uint8Array) => {
      return group.encodePoint(group.multiply(onePoint(point, group), decodeInteger(scalar)))
    }, zero)(machine)
  },
  ec_multi_scalar_mul: (machine) => {
    const { group } = selected(machine)
    pure((list: Uint8Array, scalars: Uint8Array) => {
      const points = pointsOf(list, group)
      const expected = scalarBytes * points.length
      if (scalars.length !== expected) {
        throw new EvaluationError(`bad scalars length ${scalars.length}. Expected ${expected}`)
      }
      const factors = points.map((_, index) =>
        decodeInteger(scalars.subarray(scalarBytes * index, scalarBytes * (index + 1))),
      )
      return group.encodePoint(group.sumOfMultiples(points, factors))
    }, zero)(machine)
  },
  ec_pairing_check: (machine) => {
    const { curve, group } = selected(machine)
    pure((a: Uint8Array, b: Uint8Array) => {
      const [g1Bytes, g2Bytes] = group === groups[curve][0] ? [a, b] : [b, a]
      const g1 = pointsOf(g1Bytes, groups[curve][0], 'subgroup')
      const g2 = pointsOf(g2Bytes, groups[curve][1], 'subgroup')
      if (g1.length !== g2.length) throw new EvaluationError('ec_pairing_check points of different numbers')
      return fromBoolean(isPairingOne(curve, g1, g2))
    }, zero)(machine)
  },
  ec_subgroup_check: (machine) => {
    const { group } = selected(machine)
    pure((point: Uint8Array) => fromBoolean(group.isInSubgroup(onePoint(point, group))), zero)(machine)
  },
  ec_map_to: (machine) => {
    const { group } = selected(machine)
    pure((element: Uint8Array) => {
      // A number of the prime field may have any length.
      if (group.degree === 2 && element.length !== group.coordinateBytes) {
        throw new EvaluationError(`bad encoded element length: ${element.length}`)
      }
      return group.encodePoint(group.map(decoded(group.decodeCoordinate(element))))
    }, zero)(machine)
  },
}

/** An unknown group has no cost, so the instruction fails before. */
function selected(machine: Machine): Selected {
  const { name } = Fields.withByte('ecGroup', machine.immediate(1))!
  const curve = name.startsWith('BN254') ? 'BN254' : 'BLS12_381'
  return { curve, group: groups[curve][name.endsWith('g1') ? 0 : 1] }
}

function onePoint(bytes: Uint8Array, group: CurveGroup): Point {
  if (bytes.length !== group.pointBytes) {
    throw new EvaluationError(`bad length ${bytes.length}. Expected ${group.pointBytes}`)
  }
  return decoded(group.decodePoint(bytes))
}

function pointsOf(bytes: Uint8Array, group: CurveGroup, membership: 'curve' | 'subgroup' = 'curve'): Point[] {
  const { pointBytes } = group
  if (bytes.length % pointBytes !== 0) {
    throw new EvaluationError(`bad length ${bytes.length}. Expected ${pointBytes} multiple`)
  }
  if (bytes.length === 0) throw new EvaluationError('empty input')
  return Array.from({ length: bytes.length / pointBytes }, (_, index) => {
    const point = decoded(group.decodePoint(bytes.subarray(pointBytes * index, pointBytes * (index + 1))))
    if (membership === 'subgroup' && !group.isInSubgroup(point)) throw new EvaluationError('wrong subgroup')
    return point
  })
}

function decoded<T>(result: T | string): T {
  if (typeof result === 'string') throw new EvaluationError(result)
  return result
}
