/** The state of a running program. */
import type * as Branch from '../program/Branch.js'
import type * as ConstantBlock from '../program/ConstantBlock.js'
import type { Budget } from './Budget.js'
import type { Context, Mode } from './Context.js'
import type { EvaluationError } from './EvaluationError.js'
import type { Value } from './Value.js'

/** A call of a subroutine. */
type Frame = {
  /** The instruction after the `callsub`. */
  readonly returnPc: number
  /** The height of the stack at the call. */
  readonly height: number
  /** The arguments and results that `proto` declared, or undefined without `proto`. */
  signature: { readonly args: number; readonly results: number } | undefined
}

/** The program of a machine, and its environment. */
export type MachineOptions = {
  readonly program: Uint8Array
  readonly version: number
  /** The offset of the first instruction. */
  readonly start: number
  readonly mode: Mode
  /** The arguments of a logic signature. */
  readonly args: readonly Uint8Array[]
  readonly context: Context
  /** The index of the transaction in the group. */
  readonly index: number
  readonly budget: Budget
  /** The application call, of type `Call`. Logic signatures have none. */
  readonly call?: object | undefined
}

const scratchSlots = 256

/** A running program. */
export class Machine {
  readonly program: Uint8Array
  readonly version: number
  readonly mode: Mode
  readonly args: readonly Uint8Array[]
  readonly context: Context
  readonly index: number
  readonly budget: Budget
  readonly call: object | undefined
  readonly stack: Value[] = []
  readonly scratch: Value[] = new Array<Value>(scratchSlots).fill(0n)
  readonly frames: Frame[] = []
  /** The instruction that runs. */
  pc: number
  /** The instruction that follows; operations that branch or have immediates of variable length set it. */
  nextPc: number
  /** The cost that this program has spent. */
  cost = 0
  integers: readonly bigint[] = []
  byteStrings: readonly Uint8Array[] = []
  /** Decoded blocks of constants by their instructions. */
  readonly blocks = new Map<number, ConstantBlock.Block<Value>>()
  /** Decoded tables of `switch` and `match` by their instructions. */
  readonly tables = new Map<number, Branch.Table>()
  /** Whether the previous instruction was a `callsub`. */
  isCalled = false

  constructor(options: MachineOptions) {
    this.program = options.program
    this.version = options.version
    this.mode = options.mode
    this.args = options.args
    this.context = options.context
    this.index = options.index
    this.budget = options.budget
    this.call = options.call
    this.pc = options.start
    this.nextPc = options.start
  }

  /** The unsigned byte at an offset from the instruction's start. */
  immediate(offset: number): number {
    return this.program[this.pc + offset]!
  }

  /** Replaces the top values by others. */
  replace(count: number, ...values: readonly Value[]): void {
    this.stack.length -= count
    this.stack.push(...values)
  }
}

/** Called around each instruction, for traces. Hooks must not change the machine. */
export type Tracer = {
  readonly beforeInstruction?: (machine: Machine) => void
  /** Called after an instruction, with the error if it failed. */
  readonly afterInstruction?: (machine: Machine, error: EvaluationError | undefined) => void
}
