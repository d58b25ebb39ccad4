/** Operations on subroutines and their frames. */
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import { branchOf } from './flow.js'
import type { Operations } from './Operation.js'

/** Calls, returns and values relative to a frame. */
export const subroutines: Operations = {
  callsub: (machine) => {
    const { target, end } = branchOf(machine)
    machine.frames.push({ returnPc: end, height: machine.stack.length, signature: undefined })
    machine.nextPc = target
  },
  proto: (machine) => {
    const frame = machine.frames.at(-1)
    if (!machine.isCalled || frame === undefined) throw new EvaluationError('proto was executed without a callsub')
    const [args, results] = [machine.immediate(1), machine.immediate(2)]
    if (args > machine.stack.length) {
      throw new EvaluationError(`callsub to proto that requires ${args} args with stack height ${machine.stack.length}`)
    }
    frame.signature = { args, results }
  },
  retsub: (machine) => {
    const { stack } = machine
    const frame = machine.frames.pop()
    if (frame === undefined) throw new EvaluationError('retsub with empty callstack')
    if (frame.signature !== undefined) {
      const { args, results } = frame.signature
      if (stack.length < frame.height) {
        throw new EvaluationError('retsub executed with stack below frame. Did you pop args?')
      }
      if (stack.length < frame.height + results) {
        const found = stack.length - frame.height || 'no'
        throw new EvaluationError(`retsub executed with ${found} return values on stack. proto declared ${results}`)
      }
      // The results are the lowest values above the frame; locals above them are dropped.
      const values = stack.slice(frame.height, frame.height + results)
      stack.length = frame.height - args
      stack.push(...values)
    }
    machine.nextPc = frame.returnPc
  },
  frame_dig: (machine) => {
    const index = frameIndex(machine, 'frame_dig')
    if (index >= machine.stack.length) throw new EvaluationError('frame_dig above stack')
    machine.stack.push(machine.stack[index]!)
  },
  frame_bury: (machine) => {
    const index = frameIndex(machine, 'frame_bury')
    if (index >= machine.stack.length - 1) throw new EvaluationError('frame_bury above stack')
    machine.stack[index] = machine.stack.pop()!
  },
}

function frameIndex(machine: Machine, name: string): number {
  const frame = machine.frames.at(-1)
  if (frame === undefined) throw new EvaluationError(`${name} with empty callstack`)
  const byte = machine.immediate(1)
  const offset = byte > 127 ? byte - 256 : byte
  if (frame.signature !== undefined && -offset > frame.signature.args) {
    throw new EvaluationError(`${name} ${offset} in sub with ${frame.signature.args} args`)
  }
  const index = frame.height + offset
  if (index < 0) throw new EvaluationError(`${name} below stack`)
  return index
}
