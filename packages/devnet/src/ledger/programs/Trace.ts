/** Records what programs do, instruction by instruction, for simulations. */
import { Hash } from '@latchkey/algorand'
import type { Call, Machine, Tracer, Value } from '@latchkey/avm'
import type { MapKey } from '../MapKey.js'
import * as avm from './avm.js'
import { type StateKind, type StateUse, stateUse } from './stateUse.js'

type Instruction = ReturnType<ReturnType<typeof avm.get>['instructionAt']>

/** Selects the values to record in addition to the program counters. */
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
  readonly kind: StateKind
  readonly key: MapKey
  readonly account: MapKey | undefined
  readonly isDeletion: boolean
  /** Undefined if the key was deleted, or if the instruction failed. */
  value: Value | undefined
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

/** The largest trace. Without a limit, a program that changes a box of 32 kB in each instruction would need 16 GB. */
const maxTraceBytes = 64 * 1024 * 1024
/** The text of an instruction and of a value, without bytes, in an indented response. */
const unitBytes = 200
const valueBytes = 160

/**
 * The part of a trace that the programs of a simulation share. It counts traces and initial states, roughly by their
 * size in the response.
 */
export class TraceSize {
  #bytes = 0
  /**
   * The height of the stack without the values that the last instruction took. As on a node, the programs of a
   * simulation share it, so the submission of an inner call seems to add the values above the height in that call.
   */
  stackHeight = 0

  /** Whether the limit is exceeded. Nothing more is recorded then. */
  get isExceeded(): boolean {
    return this.#bytes > maxTraceBytes
  }

  addUnit(): void {
    this.#bytes += unitBytes
  }

  /** Adds a value, or a key and a value. */
  addValue(value: Value | undefined, keyBytes = 0): void {
    this.#bytes += valueBytes + base64Length(keyBytes + (value instanceof Uint8Array ? value.length : 0))
  }
}

function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3)
}

/** Records the instructions of a program. */
export class ProgramRecorder {
  readonly trace: ProgramTrace
  readonly #options: TraceOptions
  readonly #size: TraceSize
  #slot: number | undefined
  #write: StateChange | undefined

  constructor(program: Uint8Array, options: TraceOptions, size: TraceSize) {
    this.trace = { hash: Hash.sha512_256(program), units: [] }
    this.#options = options
    this.#size = size
  }

  /** The instruction that runs, or the last one. Undefined if it is not recorded. */
  unit: Unit | undefined

  /** The application state that the instruction uses. */
  use: StateUse | undefined

  before(machine: Machine): void {
    this.unit = undefined
    this.use = undefined
    if (this.#size.isExceeded) return
    this.#record(machine)
  }

  #record(machine: Machine): void {
    const unit: Unit = { pc: machine.pc, pops: 0, additions: [], scratch: [], state: [], inners: [] }
    this.unit = unit
    this.trace.units.push(unit)
    this.#size.addUnit()
    const instruction = instructionOf(machine)
    this.use = this.#options.state && instruction ? stateUse(instruction.name, machine) : undefined
    this.#write = undefined
    if (this.use !== undefined && this.use.use !== 'read') {
      const { kind, key, account, use } = this.use
      this.#write = { kind, key, account, isDeletion: use === 'delete', value: undefined }
      unit.state.push(this.#write)
    }
    if (this.#options.stack) {
      unit.pops = instruction === undefined ? 0 : popsOf(instruction, machine)
      this.#size.stackHeight = Math.max(0, machine.stack.length - unit.pops)
    }
    if (this.#options.scratch) this.#slot = slotOf(machine)
  }

  after(machine: Machine, error: Error | undefined): void {
    const { unit } = this
    if (unit === undefined) return
    if (error !== undefined) return
    if (this.#write !== undefined) {
      this.#write.value = valueAfter(this.use!, machine)
      this.#size.addValue(this.#write.value, this.#write.key.length)
    }
    if (this.#options.stack) {
      unit.additions = machine.stack.slice(this.#size.stackHeight)
      for (const value of unit.additions) this.#size.addValue(value)
    }
    if (this.#slot !== undefined) {
      unit.scratch = [{ slot: this.#slot, value: machine.scratch[this.#slot]! }]
      this.#size.addValue(machine.scratch[this.#slot])
    }
  }
}

function valueAfter({ kind, use, appId, key, account }: StateUse, { call }: Machine): Value | undefined {
  if (use === 'delete' || call === undefined) return undefined
  const { ledger } = (call as Call).group
  if (kind === 'global') return ledger.globalValue(appId, key)
  if (kind === 'box') return ledger.box(appId, key)
  return account === undefined ? undefined : ledger.localValue(account, appId, key)
}

/** A tracer for the program of a logic signature. */
export function logicTracer(recorder: ProgramRecorder): Tracer {
  return {
    beforeInstruction: (machine) => recorder.before(machine),
    afterInstruction: (machine, error) => recorder.after(machine, error),
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
function popsOf(instruction: Instruction, machine: Machine): number {
  const { program, pc, stack } = machine
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

function instructionOf({ program, pc, version }: Machine): Instruction | undefined {
  const { EvaluationError, instructionAt } = avm.get()
  try {
    return instructionAt(program, pc, version)
  } catch (error) {
    if (error instanceof EvaluationError) return undefined
    throw error
  }
}
