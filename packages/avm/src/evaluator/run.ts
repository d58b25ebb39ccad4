/** Runs programs, instruction by instruction. */
import type { Instruction } from '../opcodes/Instruction.js'
import * as StackType from '../opcodes/StackType.js'
import { operations } from '../operations/index.js'
import type { Operation } from '../operations/Operation.js'
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

/** An instruction with everything that its performance needs. */
type Step = {
  readonly instruction: Instruction
  readonly operation: Operation | undefined
  /** The length without immediates of variable length. */
  readonly length: number
  /** The cost, if it is the same for all fields and arguments. */
  readonly fixedCost: number | undefined
}

/** The steps of a version by their opcode, looked up once. Prefixes and opcodes without an instruction have none. */
const steps: (Step | undefined)[][] = []

function stepAt({ program, pc, version }: Machine): Step {
  steps[version] ??= []
  const known = steps[version][program[pc]!]
  if (known !== undefined) return known
  const instruction = instructionAt(program, pc, version)
  const { cost } = instruction
  const step = {
    instruction,
    operation: operations.get(instruction.name),
    length: Cost.fixedLength(instruction),
    fixedCost: 'base' in cost && cost.perChunk === 0 ? cost.base : undefined,
  }
  if (instruction.suffix === undefined) steps[version][program[pc]!] = step
  return step
}

/** The order of the checks decides which error a program with several problems reports. */
function step(machine: Machine): void {
  const { instruction, operation, length, fixedCost } = stepAt(machine)
  expectMode(machine, instruction)
  expectArguments(machine, instruction)
  const end = machine.pc + length
  if (end > machine.program.length) throw new EvaluationError('program ends without immediate value(s)')
  spend(machine, instruction, fixedCost ?? Cost.of(instruction, machine.program, machine.pc, machine.stack))
  machine.nextPc = end
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

function spend(machine: Machine, { name }: Instruction, cost: number): void {
  if (cost <= 0) throw new EvaluationError(`${name} returned ${cost} cost`)
  if (!machine.budget.spend(cost)) {
    throw new EvaluationError(`dynamic cost budget exceeded, executing ${name}: local program cost was ${machine.cost}`)
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
