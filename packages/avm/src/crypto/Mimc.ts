/** MiMC as a hash, in the mode of Miyaguchi and Preneel. */
import { encodeInteger } from '../evaluator/Value.js'
import * as ScalarField from './ScalarField.js'

const rounds = { BN254: 110, BLS12_381: 111 } as const
const constants = new Map<ScalarField.Curve, readonly bigint[]>()

/** Hashes elements of the scalar field. */
export function hash(curve: ScalarField.Curve, blocks: readonly bigint[]): Uint8Array {
  const order = ScalarField.orderOf(curve)
  let state = 0n
  for (const block of blocks) state = (encrypt(curve, block, state) + state + block) % order
  return encodeInteger(state, ScalarField.elementBytes)
}

function encrypt(curve: ScalarField.Curve, block: bigint, key: bigint): bigint {
  const order = ScalarField.orderOf(curve)
  let value = block
  for (const constant of constantsOf(curve)) {
    value = ScalarField.fifthPower((value + key + constant) % order, order)
  }
  return value + key
}

function constantsOf(curve: ScalarField.Curve): readonly bigint[] {
  let known = constants.get(curve)
  if (known === undefined) {
    known = ScalarField.constantsOf('seed', rounds[curve], curve)
    constants.set(curve, known)
  }
  return known
}
