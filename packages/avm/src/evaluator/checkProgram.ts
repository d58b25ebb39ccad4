/** The static check of programs, which a node makes before the first run. */
import type { Transaction } from '@latchkey/algorand'
import type { Instruction } from '../opcodes/Instruction.js'
import * as Branch from '../program/Branch.js'
import * as ConstantBlock from '../program/ConstantBlock.js'
import { type ConsensusParameters, defaultParameters } from './ConsensusParameters.js'
import type { Mode } from './Context.js'
import * as Cost from './Cost.js'
import { EvaluationError } from './EvaluationError.js'
import { instructionAt } from './Instructions.js'
import { openProgram } from './openProgram.js'

/** The first version whose cost is counted at run time. */
const dynamicCostVersion = 4

/** The environment of a program that is checked. */
export type CheckOptions = {
  readonly mode: Mode
  readonly group: readonly Transaction.Transaction[]
  /** The parameters of the consensus protocol. @default defaultParameters */
  readonly parameters?: ConsensusParameters
  /** The largest cost of programs before version 4. @default the budget of the group */
  readonly maxCost?: number
  /** Whether the program is called by a transaction with an access list. @default false */
  readonly hasAccessList?: boolean
}

/**
 * Checks a program from its start to its end, without following branches.
 *
 * @returns the problem in the words of algod, or undefined.
 *
 * @example
 * checkProgram(Uint8Array.of(10, 0x81, 1), { mode: 'signature', group: [] }) // undefined
 */
export function checkProgram(program: Uint8Array, options: CheckOptions): string | undefined {
  const { mode, group, parameters = defaultParameters } = options
  const { version, start, error } = openProgram(program, group, parameters, options.hasAccessList)
  if (error !== undefined) return error.message
  const walk = new Walk(program, version, start, mode)
  const maxCost = options.maxCost ?? parameters.signatureBudget * group.length
  try {
    while (walk.pc < program.length) {
      walk.step()
      if (version < dynamicCostVersion && walk.cost > maxCost) {
        throw new EvaluationError(`static cost budget of ${maxCost} exceeded`)
      }
    }
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof EvaluationError)) throw thrown
    return `pc=${String(walk.pc).padStart(3)} ${thrown.message}`
  }
}

class Walk {
  pc: number
  cost = 0
  readonly #program: Uint8Array
  readonly #version: number
  readonly #mode: Mode
  readonly #starts = new Set<number>()
  readonly #targets = new Set<number>()

  constructor(program: Uint8Array, version: number, start: number, mode: Mode) {
    this.#program = program
    this.#version = version
    this.#mode = mode
    this.pc = start
  }

  /** Checks the instruction at the position, and moves behind it. */
  step(): void {
    const { pc } = this
    this.#starts.add(pc)
    const instruction = instructionAt(this.#program, pc, this.#version)
    if (!(this.#mode === 'signature' ? instruction.isForSignatures : instruction.isForApps)) {
      throw new EvaluationError(`${instruction.name} not allowed in current mode`)
    }
    if (pc + Cost.fixedLength(instruction) > this.#program.length) {
      throw new EvaluationError('program ends without immediate value(s)')
    }
    const cost = Cost.of(instruction, this.#program, pc)
    if (cost <= 0) throw new EvaluationError(`${instruction.name} reported non-positive cost`)
    this.cost += cost
    this.pc = this.#end(instruction)
    for (let skipped = pc + 1; skipped < this.pc; skipped++) {
      if (this.#targets.has(skipped)) {
        throw new EvaluationError(`branch target ${skipped} is not an aligned instruction`)
      }
    }
  }

  #end(instruction: Instruction): number {
    const { pc } = this
    const program = this.#program
    const kind = instruction.immediates.at(-1)?.kind
    switch (kind) {
      case 'varuints':
        return endOf(ConstantBlock.decodeIntegers(program, pc + 1))
      case 'byteses':
        return endOf(ConstantBlock.decodeByteStrings(program, pc + 1))
      case 'varuint':
        return endOf(ConstantBlock.decodeInteger(program, pc + 1))
      case 'bytes':
        return endOf(ConstantBlock.decodeByteString(program, pc + 1))
      case 'int16be':
      case 'varint': {
        const branch = Branch.decode(program, pc, this.#version)
        if (typeof branch === 'string') throw new EvaluationError(branch)
        this.#addTarget(branch.target, branch.end)
        return branch.end
      }
      case 'int16s': {
        const table = Branch.decodeTable(program, pc, instruction.name)
        if (typeof table === 'string') throw new EvaluationError(table)
        for (const target of table.targets) {
          const problem = Branch.problemWith(target, program, this.#version)
          if (problem !== undefined) throw new EvaluationError(problem)
          this.#addTarget(target, table.end)
        }
        return table.end
      }
      default:
        return pc + Cost.fixedLength(instruction)
    }
  }

  #addTarget(target: number, end: number): void {
    if (target < end && !this.#starts.has(target)) {
      throw new EvaluationError(`back branch target ${target} is not an aligned instruction`)
    }
    this.#targets.add(target)
  }
}

function endOf(decoded: { readonly end: number } | string): number {
  if (typeof decoded === 'string') throw new EvaluationError(decoded)
  return decoded.end
}
