/** Operations on the scratch space. */
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import type { Operations } from './Operation.js'

/** Operations that load and store. */
export const scratch: Operations = {
  load: (machine) => {
    machine.stack.push(machine.scratch[machine.immediate(1)]!)
  },
  store: (machine) => {
    machine.scratch[machine.immediate(1)] = machine.stack.pop()!
  },
  loads: (machine) => {
    const slot = slotOf(machine, machine.stack.at(-1) as bigint)
    machine.replace(1, machine.scratch[slot]!)
  },
  stores: (machine) => {
    const slot = slotOf(machine, machine.stack.at(-2) as bigint)
    machine.scratch[slot] = machine.stack.at(-1)!
    machine.replace(2)
  },
}

function slotOf({ scratch }: Machine, index: bigint): number {
  if (index >= BigInt(scratch.length)) throw new EvaluationError(`invalid Scratch index ${index}`)
  return Number(index)
}
