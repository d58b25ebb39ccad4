/** Hashes. */
import { Hash } from '@latchkey/algorand'
import { sha512 } from '@noble/hashes/sha2.js'
import { keccak_256, sha3_256 } from '@noble/hashes/sha3.js'
import * as Mimc from '../crypto/Mimc.js'
import * as Poseidon2 from '../crypto/Poseidon2.js'
import * as ScalarField from '../crypto/ScalarField.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import * as Fields from '../opcodes/Fields.js'
import { type Operations, pure } from './Operation.js'

/** Hashes of byte strings. */
export const hashes: Operations = {
  sha256: pure((data: Uint8Array) => Hash.sha256(data)),
  sha512_256: pure((data: Uint8Array) => Hash.sha512_256(data)),
  sha512: pure((data: Uint8Array) => sha512(data)),
  keccak256: pure((data: Uint8Array) => keccak_256(data)),
  sha3_256: pure((data: Uint8Array) => sha3_256(data)),
  mimc: (machine) => {
    const curve = curveOf(machine, 'mimcConfig')
    pure((data: Uint8Array) => Mimc.hash(curve, blocksOf(data, curve, 'mimc')))(machine)
  },
  poseidon2: (machine) => {
    const curve = curveOf(machine, 'poseidon2Config')
    pure((data: Uint8Array) => Poseidon2.hash(curve, blocksOf(data, curve, 'poseidon2')))(machine)
  },
}

/** An unknown field has no cost, so the instruction fails before. */
function curveOf(machine: Machine, group: 'mimcConfig' | 'poseidon2Config'): ScalarField.Curve {
  return Fields.withByte(group, machine.immediate(1))!.name.startsWith('BN254') ? 'BN254' : 'BLS12_381'
}

function blocksOf(data: Uint8Array, curve: ScalarField.Curve, name: string): bigint[] {
  if (data.length === 0) throw new EvaluationError('the input data cannot be empty')
  if (data.length % ScalarField.elementBytes !== 0) {
    throw new EvaluationError(`the input data must be a multiple of ${ScalarField.elementBytes} bytes`)
  }
  const elements = ScalarField.decodeElements(data, curve)
  if (elements === undefined) throw new EvaluationError(`invalid ${name} input invalid fr.Element encoding`)
  return elements
}
