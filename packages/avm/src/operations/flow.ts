/** Operations that decide which instruction follows. */
import { Bytes } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import type { Value } from '../evaluator/Value.js'
import * as Branch from '../program/Branch.js'
import type { Operations } from './Operation.js'

/** The most tables that are kept. */
const maxTables = 256

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
    const base = stack.length - 1 - (count ?? 0)
    const found = indexOfSame(stack, base)
    stack.length = base
    const { targets, end } = tableOf(machine, 'match')
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

/** Decodes each table once, because a loop over a table of 255 targets has a cost of 1. */
function tableOf({ program, pc, tables }: Machine, name: string): Branch.Table {
  const known = tables.get(pc)
  if (known !== undefined) return known
  const table = Branch.decodeTable(program, pc, name)
  if (typeof table === 'string') throw new EvaluationError(table)
  if (tables.size < maxTables) tables.set(pc, table)
  return table
}

function validTarget({ program, version }: Machine, target: number): number {
  const problem = Branch.problemWith(target, program, version)
  if (problem !== undefined) throw new EvaluationError(problem)
  return target
}

/**
 * Finds the top value among those from an index on, and returns its position there, or -1. Copies that follow each other
 * are compared once, because `dupn` makes 255 copies for a cost of 1.
 */
function indexOfSame(stack: readonly Value[], base: number): number {
  const last = stack.length - 1
  const value = stack[last]!
  for (let index = base; index < last; index++) {
    const candidate = stack[index]!
    if (index > base && candidate === stack[index - 1]) continue
    if (isSame(candidate, value)) return index - base
  }
  return -1
}

function isSame(a: Value, b: Value): boolean {
  if (a === b) return true
  return a instanceof Uint8Array && b instanceof Uint8Array && Bytes.equal(a, b)
}
