/** Operations that decide which instruction follows. */
import { Bytes } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import type { Value } from '../evaluator/Value.js'
import * as Branch from '../program/Branch.js'
import type { Operations } from './Operation.js'

/** Branches, and the ends of a program. */
export const flow: Operations = {
  err: () => {
    throw new EvaluationError('err opcode executed')
  },
  assert: (machine) => {
    if (machine.stack.at(-1) === 0n) throw new EvaluationError(`assert failed pc=${machine.pc}`)
    machine.stack.pop()
  },
  return: (machine) => {
    machine.stack.splice(0, machine.stack.length - 1)
    machine.nextPc = machine.program.length
  },
  b: (machine) => {
    machine.nextPc = branchOf(machine).target
  },
  bz: (machine) => branchIf(machine, (value) => value === 0n),
  bnz: (machine) => branchIf(machine, (value) => value !== 0n),
  switch: (machine) => {
    const { targets, end } = tableOf(machine, 'switch')
    const index = machine.stack.pop() as bigint
    machine.nextPc = index < BigInt(targets.length) ? validTarget(machine, targets[Number(index)]!) : end
  },
  match: (machine) => {
    const { stack } = machine
    const count = machine.program[machine.pc + 1]
    if (count !== undefined && count + 1 > stack.length) {
      throw new EvaluationError(`match expects ${count + 1} stack args while stack only contains ${stack.length}`)
    }
    const [value, ...candidates] = stack.splice(-1 - (count ?? 0)).reverse()
    const { targets, end } = tableOf(machine, 'match')
    const found = indexOfSame(candidates.reverse(), value!)
    machine.nextPc = found === -1 ? end : validTarget(machine, targets[found]!)
  },
}

/**
 * Decodes the branch of the current instruction.
 *
 * @throws EvaluationError
 */
export function branchOf({ program, pc, version }: Machine): Branch.Branch {
  const branch = Branch.decode(program, pc, version)
  if (typeof branch === 'string') throw new EvaluationError(branch)
  return branch
}

function branchIf(machine: Machine, isTaken: (value: Value) => boolean): void {
  const value = machine.stack.pop()!
  if (Branch.isAlwaysChecked(machine.version)) {
    const { target, end } = branchOf(machine)
    machine.nextPc = isTaken(value) ? target : end
  } else if (isTaken(value)) {
    machine.nextPc = branchOf(machine).target
  }
}

function tableOf({ program, pc }: Machine, name: string): { targets: readonly number[]; end: number } {
  const table = Branch.decodeTable(program, pc, name)
  if (typeof table === 'string') throw new EvaluationError(table)
  return table
}

function validTarget({ program, version }: Machine, target: number): number {
  const problem = Branch.problemWith(target, program, version)
  if (problem !== undefined) throw new EvaluationError(problem)
  return target
}

/** Compares a byte string that occurs several times only once, because `dupn` makes 255 copies for a cost of 1. */
function indexOfSame(candidates: readonly Value[], value: Value): number {
  const different = new Set<Value>()
  return candidates.findIndex((candidate) => {
    if (different.has(candidate)) return false
    if (isSame(candidate, value)) return true
    different.add(candidate)
    return false
  })
}

function isSame(a: Value, b: Value): boolean {
  if (a === b) return true
  return a instanceof Uint8Array && b instanceof Uint8Array && Bytes.equal(a, b)
}
