/** Operations that push constants of the program, and the arguments of logic signatures. */
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import type { Value } from '../evaluator/Value.js'
import * as ConstantBlock from '../program/ConstantBlock.js'
import type { Operation, Operations } from './Operation.js'

/** The most blocks that are kept. */
const maxBlocks = 256

/** Constants and arguments. */
export const constants: Operations = {
  intcblock: (machine) => {
    const { values, end } = integersOf(machine)
    machine.integers = values
    machine.nextPc = end
  },
  bytecblock: (machine) => {
    const { values, end } = byteStringsOf(machine)
    machine.byteStrings = values
    machine.nextPc = end
  },
  pushints: (machine) => {
    const { values, end } = integersOf(machine)
    for (const value of values) machine.stack.push(value)
    machine.nextPc = end
  },
  pushbytess: (machine) => {
    const { values, end } = byteStringsOf(machine)
    for (const value of values) machine.stack.push(value)
    machine.nextPc = end
  },
  pushint: (machine) => {
    const { value, end } = decoded(ConstantBlock.decodeInteger(machine.program, machine.pc + 1))
    machine.stack.push(value)
    machine.nextPc = end
  },
  pushbytes: (machine) => {
    const { value, end } = decoded(ConstantBlock.decodeByteString(machine.program, machine.pc + 1))
    machine.stack.push(value)
    machine.nextPc = end
  },
  intc: (machine) => pushInteger(machine, machine.immediate(1)),
  bytec: (machine) => pushByteString(machine, machine.immediate(1)),
  arg: (machine) => pushArgument(machine, BigInt(machine.immediate(1))),
  args: (machine) => {
    pushArgument(machine, machine.stack.pop() as bigint)
  },
  ...numbered('intc', pushInteger),
  ...numbered('bytec', pushByteString),
  ...numbered('arg', (machine, index) => pushArgument(machine, BigInt(index))),
}

/** The short forms of the indices 0 to 3. */
function numbered(name: string, push: (machine: Machine, index: number) => void): { [name: string]: Operation } {
  return Object.fromEntries([0, 1, 2, 3].map((index) => [`${name}_${index}`, (machine) => push(machine, index)]))
}

function pushInteger({ integers, stack }: Machine, index: number): void {
  const value = integers[index]
  if (value === undefined) throw new EvaluationError(`intc ${index} beyond ${integers.length} constants`)
  stack.push(value)
}

function pushByteString({ byteStrings, stack }: Machine, index: number): void {
  const value = byteStrings[index]
  if (value === undefined) throw new EvaluationError(`bytec ${index} beyond ${byteStrings.length} constants`)
  stack.push(value)
}

function pushArgument({ args, stack }: Machine, index: bigint): void {
  const value = index < BigInt(args.length) ? args[Number(index)] : undefined
  if (value === undefined) throw new EvaluationError(`cannot load arg[${index}] of ${args.length}`)
  stack.push(value)
}

function integersOf(machine: Machine): ConstantBlock.Block<bigint> {
  return remembered(machine, ConstantBlock.decodeIntegers) as ConstantBlock.Block<bigint>
}

function byteStringsOf(machine: Machine): ConstantBlock.Block<Uint8Array> {
  return remembered(machine, ConstantBlock.decodeByteStrings) as ConstantBlock.Block<Uint8Array>
}

/** Decodes each block once, because a loop over a block of thousands of constants has a cost of 1. */
function remembered(
  { blocks, program, pc }: Machine,
  decode: (program: Uint8Array, start: number) => ConstantBlock.Block<Value> | string,
): ConstantBlock.Block<Value> {
  const known = blocks.get(pc)
  if (known !== undefined) return known
  const block = decoded(decode(program, pc + 1))
  if (blocks.size < maxBlocks) blocks.set(pc, block)
  return block
}

function decoded<T extends object>(result: T | string): T {
  if (typeof result === 'string') throw new EvaluationError(result)
  return result
}
