import type { Transaction } from '@latchkey/algorand'
import * as Varint from '../encoding/Varint.js'
import * as Instruction from '../opcodes/Instruction.js'
import type { ConsensusParameters } from './ConsensusParameters.js'
import { minVersion } from './Context.js'
import { EvaluationError } from './EvaluationError.js'

/** The first version that can be called with an access list, which shares resources. */
const accessListVersion = 9n

/**
 * Reads the version of a program. `start` is 0 if the version is not supported.
 *
 * @param hasAccessList whether the program is called by a transaction with an access list.
 */
export function openProgram(
  program: Uint8Array,
  group: readonly Transaction.Transaction[],
  { maxVersion }: ConsensusParameters,
  hasAccessList = false,
): { readonly version: number; readonly start: number; readonly error: EvaluationError | undefined } {
  const refuse = (reason: string, start = 0) => ({ version: 0, start, error: new EvaluationError(reason) })
  const decoded = Varint.decode(program, 0)
  if (decoded === undefined) return refuse('invalid version')
  const { value, length } = decoded
  if (value > BigInt(Instruction.maxAssemblerVersion)) {
    return refuse(`program version ${value} greater than max supported version ${Instruction.maxAssemblerVersion}`)
  }
  if (value > BigInt(maxVersion)) {
    return refuse(`program version ${value} greater than protocol supported version ${maxVersion}`)
  }
  if (hasAccessList && value < accessListVersion) {
    return refuse('pre-sharedResources program cannot be invoked with tx.Access')
  }
  const needed = minVersion(group)
  if (value < BigInt(needed)) {
    return refuse(`program version must be >= ${needed} for this transaction group, but have version ${value}`, length)
  }
  return { version: Number(value), start: length, error: undefined }
}
