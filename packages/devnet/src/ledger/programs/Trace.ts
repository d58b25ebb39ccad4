/** Records what programs do, instruction by instruction, for simulations. */
import { Hash } from '@latchkey/algorand'
import type { Machine, Tracer, Value } from '@latchkey/avm'
import type { MapKey } from '../MapKey.js'
import * as avm from './avm.js'

type AvmPackage = ReturnType<typeof avm.get>

/** What to record in addition to the program counters. */
export type TraceOptions = { readonly stack: boolean; readonly scratch: boolean; readonly state: boolean }

/** One instruction. */
export type Unit = {
  readonly pc: number
  pops: number
  additions: readonly Value[]
  scratch: readonly { readonly slot: number; readonly value: Value }[]
  readonly state: StateChange[]
  /** The indexes of the inner transactions that it submitted, among those of its transaction. */
  readonly inners: number[]
}

export type StateChange = {
  readonly kind: 'global' | 'local' | 'box'
  readonly key: MapKey
  readonly account: MapKey | undefined
  /** Undefined if the key was deleted. */
  readonly value: Value | undefined
}

export type ProgramTrace = { readonly hash: Uint8Array; readonly units: Unit[] }

/** The programs of one transaction. */
export type TransactionTrace = {
  logic?: ProgramTrace
  approval?: ProgramTrace
  clearState?: ProgramTrace
  /** The changes of the clear state program were undone, because of the error if there is one. */
  rollback?: { readonly error: string | undefined }
  readonly inners: TransactionTrace[]
}

/** Records the instructions of a program. */
export class ProgramRecorder {
  readonly trace: ProgramTrace
  readonly #options: TraceOptions
  #heightBefore = 0
  #slot: number | undefined

  constructor(program: Uint8Array, options: TraceOptions) {
    this.trace = { hash: Hash.sha512_256(program), units: [] }
    this.#options = options
  }

  /** The instruction that runs, or the last one. */
  get unit(): Unit {
    return this.trace.units.at(-1)!
  }

  before(machine: Machine): void {
    const unit: Unit = { pc: machine.pc, pops: 0, additions: [], scratch: [], state: [], inners: [] }
    this.trace.units.push(unit)
    if (this.#options.stack) {
      unit.pops = popsOf(machine)
      this.#heightBefore = machine.stack.length
    }
    if (this.#options.scratch) this.#slot = slotOf(machine)
  }

  after(machine: Machine, isFailed: boolean): void {
    if (isFailed) return
    const { unit } = this
    if (this.#options.stack) unit.additions = machine.stack.slice(Math.max(0, this.#heightBefore - unit.pops))
    if (this.#slot !== undefined) unit.scratch = [{ slot: this.#slot, value: machine.scratch[this.#slot]! }]
  }
}

/** A tracer for the program of a logic signature. */
export function logicTracer(recorder: ProgramRecorder): Tracer {
  return {
    beforeInstruction: (machine) => recorder.before(machine),
    afterInstruction: (machine, error) => recorder.after(machine, error !== undefined),
  }
}

const store = 0x35
const stores = 0x3f

/** The scratch slot that the instruction writes, if any. */
function slotOf({ program, pc, stack }: Machine): number | undefined {
  if (program[pc] === store) return program[pc + 1]
  const slot = program[pc] === stores ? stack.at(-2) : undefined
  return typeof slot === 'bigint' && slot < 256n ? Number(slot) : undefined
}

/** The number of values that the instruction takes from the stack, as nodes count them. */
function popsOf(machine: Machine): number {
  const { program, pc, stack } = machine
  const instruction = instructionOf(machine)
  if (instruction === undefined) return 0
  const immediate = program[pc + 1] ?? 0
  switch (instruction.name) {
    case 'dig':
      return 0
    case 'bury':
    case 'cover':
    case 'uncover':
    case 'match':
      return immediate + 1
    case 'popn':
      return immediate
    case 'return':
      return stack.length
    case 'retsub': {
      const frame = machine.frames.at(-1)
      return frame?.signature === undefined ? 0 : stack.length - frame.height + frame.signature.args
    }
    case 'frame_bury': {
      const frame = machine.frames.at(-1)
      return frame === undefined ? 1 : stack.length - (frame.height + ((immediate << 24) >> 24))
    }
    default:
      return instruction.args.length
  }
}

function instructionOf({ program, pc, version }: Machine): ReturnType<AvmPackage['instructionAt']> | undefined {
  const { EvaluationError, instructionAt } = avm.get()
  try {
    return instructionAt(program, pc, version)
  } catch (error) {
    if (error instanceof EvaluationError) return undefined
    throw error
  }
}
