import { instructionsBefore } from '../disassembler/disassemble.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import { run } from '../evaluator/run.js'
import type { Call } from './model.js'

/**
 * Runs the program of a call. Returns whether it accepted the transaction.
 *
 * @throws EvaluationError with the place of the failure.
 */
export function runCall(call: Call): boolean {
  const { observer, unnamed } = call.group.pool
  unnamed?.enter(call.version, call.group.parent === undefined ? call.index : undefined)
  let isAccepted = false
  let failure: EvaluationError | undefined
  observer?.beforeProgram?.(call)
  try {
    if (call.problem !== undefined) throw call.problem
    isAccepted = run(call.machine, observer) !== 0n
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error
    failure = located(call, error)
  }
  observer?.afterProgram?.(call, isAccepted, failure)
  if (failure !== undefined) throw failure
  return isAccepted
}

function located(call: Call, cause: EvaluationError): EvaluationError {
  const { pc, program } = call.machine
  const opcodes = call.group.pool.showsOpcodes ? `, opcodes=${instructionsBefore(program, pc)}` : ''
  const reason = `logic eval error: ${cause.message}. Details: app=${call.appId}, pc=${pc}${opcodes}`
  return new EvaluationError(reason, { call, cause })
}
