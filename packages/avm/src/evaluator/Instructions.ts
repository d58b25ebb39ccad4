/** Finds instructions in programs. */
import * as Varint from '../encoding/Varint.js'
import * as Instruction from '../opcodes/Instruction.js'
import { EvaluationError } from './EvaluationError.js'

/**
 * The instruction at an offset.
 *
 * @throws EvaluationError if there is none.
 */
export function instructionAt(program: Uint8Array, pc: number, version: number): Instruction.Instruction {
  const opcode = program[pc]!
  const suffix = Instruction.isPrefix(version, opcode) ? (program[pc + 1] ?? -1) : undefined
  const instruction = Instruction.withCode(version, opcode, suffix)
  if (instruction !== undefined) return instruction
  if (suffix !== undefined) {
    const name = `prefix opcode ${hexOf(opcode)}`
    throw new EvaluationError(
      suffix < 0 ? `${name} missing sub-opcode` : `${name} with improper sub-opcode ${hexOf(suffix)}`,
    )
  }
  throw new EvaluationError(`illegal opcode ${hexOf(opcode)}`)
}

function hexOf(byte: number): string {
  return `0x${byte.toString(16).padStart(2, '0')}`
}

/** The version of a program. 0 if it has none. */
export function versionOf(program: Uint8Array): bigint {
  return Varint.decode(program, 0)?.value ?? 0n
}
