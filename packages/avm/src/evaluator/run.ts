/** Runs programs, instruction by instruction. */
import type { Instruction } from '../opcodes/Instruction.js'
import * as StackType from '../opcodes/StackType.js'
import { operations } from '../operations/index.js'
import * as Cost from './Cost.js'
import { EvaluationError } from './EvaluationError.js'
import { instructionAt } from './Instructions.js'
import type { Machine, Tracer } from './Machine.js'
import { kindOf } from './Value.js'

/**
 * Runs a program to its end, and returns its result.
 *
 * @throws EvaluationError
 */
export function run(machine: Machine, tracer?: Tracer): bigint {
  while (machine.pc < machine.program.length) {
    if (tracer === undefined) step(machine)
    else tracedStep(machine, tracer)
  }
  const { stack } = machine
  if (stack.length !== 1) throw new EvaluationError(`stack len is ${stack.length} instead of 1`)
  const [result] = stack
  if (typeof result !== 'bigint') throw new EvaluationError('stack finished with bytes not int')
  return result
}

function tracedStep(machine: Machine, tracer: Tracer): void {
  tracer.beforeInstruction?.(machine)
  const pc = machine.pc
  try {
    step(machine)
  } catch (error) {
    if (error instanceof EvaluationError && machine.pc === pc) tracer.afterInstruction?.(machine, error)
    throw error
  }
  tracer.afterInstruction?.(machine, undefined)
}

/** The order of the checks decides which error a program with several problems reports. */
function step(machine: Machine): void {
  const instruction = instructionAt(machine.program, machine.pc, machine.version)
  expectMode(machine, instruction)
  expectArguments(machine, instruction)
  const end = machine.pc + Cost.fixedLength(instruction)
  if (end > machine.program.length) throw new EvaluationError('program ends without immediate value(s)')
  spend(machine, instruction)
  machine.nextPc = end
  const operation = operations.get(instruction.name)
  if (operation === undefined) throw new EvaluationError(`${instruction.name} is not supported`)
  operation(machine)
  machine.isCalled = instruction.name === 'callsub'
  expectResults(machine, instruction)
  if (machine.stack.length > machine.context.parameters.maxStackDepth) throw new EvaluationError('stack overflow')
  machine.pc = machine.nextPc
}

function expectMode({ mode }: Machine, { name, isForSignatures, isForApps }: Instruction): void {
  if (mode === 'signature' ? isForSignatures : isForApps) return
  throw new EvaluationError(`${name} not allowed in current mode`)
}

function expectArguments({ stack }: Machine, { name, args }: Instruction): void {
  const base = stack.length - args.length
  if (base < 0) throw new EvaluationError(`stack underflow in ${name}`)
  for (let index = 0; index < args.length; index++) {
    const wanted = args[index]!
    if (wanted.kind === 'any') continue
    const value = stack[base + index]!
    if ((wanted.kind === 'uint64') === (typeof value === 'bigint')) continue
    throw new EvaluationError(`${name} arg ${index} wanted ${wanted.name} but got ${kindOf(value)}`)
  }
}

function spend(machine: Machine, instruction: Instruction): void {
  const cost = Cost.of(instruction, machine.program, machine.pc, machine.stack)
  if (cost <= 0) throw new EvaluationError(`${instruction.name} returned ${cost} cost`)
  if (!machine.budget.spend(cost)) {
    throw new EvaluationError(
      `dynamic cost budget exceeded, executing ${instruction.name}: local program cost was ${machine.cost}`,
    )
  }
  machine.cost += cost
}

function expectResults({ stack }: Machine, { name, returns }: Instruction): void {
  for (let index = Math.max(0, stack.length - returns.length); index < stack.length; index++) {
    const value = stack[index]!
    if (typeof value === 'bigint' || value.length <= StackType.maxBytesLength) continue
    throw new EvaluationError(`${name} produced a too big (${value.length}) byte-array`)
  }
}
