/** Operations that move values on the stack. */
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Value } from '../evaluator/Value.js'
import { type Operations, pure } from './Operation.js'

/** Operations on the stack itself. */
export const stack: Operations = {
  pop: ({ stack }) => {
    stack.pop()
  },
  dup: ({ stack }) => {
    stack.push(stack.at(-1)!)
  },
  dup2: ({ stack }) => {
    stack.push(stack.at(-2)!, stack.at(-1)!)
  },
  swap: pure((a: Value, b: Value) => [b, a]),
  select: pure((a: Value, b: Value, condition: bigint) => (condition === 0n ? a : b)),
  dig: (machine) => {
    const depth = machine.immediate(1)
    machine.stack.push(machine.stack[below(machine.stack, depth, 'dig')]!)
  },
  cover: (machine) => {
    const index = below(machine.stack, machine.immediate(1), 'cover')
    const { stack } = machine
    const value = stack.at(-1)!
    for (let position = stack.length - 1; position > index; position--) stack[position] = stack[position - 1]!
    stack[index] = value
  },
  uncover: (machine) => {
    const index = below(machine.stack, machine.immediate(1), 'uncover')
    const { stack } = machine
    const value = stack[index]!
    for (let position = index + 1; position < stack.length; position++) stack[position - 1] = stack[position]!
    stack[stack.length - 1] = value
  },
  bury: (machine) => {
    const depth = machine.immediate(1)
    const { stack } = machine
    const index = stack.length - 1 - depth
    if (depth === 0 || index < 0) throw new EvaluationError('bury outside stack')
    stack[index] = stack.pop()!
  },
  popn: (machine) => {
    const count = machine.immediate(1)
    const { stack } = machine
    if (count > stack.length) throw new EvaluationError(`popn ${count} while stack contains ${stack.length}`)
    stack.length -= count
  },
  dupn: (machine) => {
    const { stack, context } = machine
    const count = machine.immediate(1)
    if (stack.length + count > context.parameters.maxStackDepth) throw new EvaluationError('stack overflow')
    stack.push(...new Array<Value>(count).fill(stack.at(-1)!))
  },
}

function below(stack: readonly Value[], depth: number, name: string): number {
  const index = stack.length - 1 - depth
  if (index < 0) throw new EvaluationError(`${name} ${depth} with stack size = ${stack.length}`)
  return index
}
