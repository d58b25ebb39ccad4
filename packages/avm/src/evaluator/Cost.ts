/** Costs and lengths of instructions in a program. */
import * as Fields from '../opcodes/Fields.js'
import type { Cost, Instruction } from '../opcodes/Instruction.js'
import type { Value } from './Value.js'

const lengths: { readonly [kind: string]: number } = { uint8: 1, int8: 1, int16be: 2 }

const fixedLengths = new WeakMap<Instruction, number>()

/** The length of an instruction without immediates of variable length. */
export function fixedLength(instruction: Instruction): number {
  let length = fixedLengths.get(instruction)
  if (length === undefined) {
    length = instruction.suffix === undefined ? 1 : 2
    for (const { kind } of instruction.immediates) length += lengths[kind] ?? 0
    fixedLengths.set(instruction, length)
  }
  return length
}

/** The cost of the instruction at an offset, or 0 if its field has none. Without a stack, arguments have no length. */
export function of(instruction: Instruction, program: Uint8Array, pc: number, stack: readonly Value[] = []): number {
  const cost = costOf(instruction, program, pc)
  if (cost === undefined) return 0
  if (cost.perChunk === 0) return cost.base
  const argument = stack[stack.length - instruction.args.length + cost.argument]
  const length = argument instanceof Uint8Array ? argument.length : 0
  return cost.base + cost.perChunk * Math.ceil(length / cost.chunkBytes)
}

/** Fields with a cost of their own are the first immediate of their instruction. */
function costOf(instruction: Instruction, program: Uint8Array, pc: number): Cost | undefined {
  if (!(instruction.cost instanceof Map)) return instruction.cost as Cost
  const field = Fields.withByte(instruction.immediates[0]!.group!, program[pc + 1]!)
  return field === undefined ? undefined : instruction.cost.get(field.name)
}
