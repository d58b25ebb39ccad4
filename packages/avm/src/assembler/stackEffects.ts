/** The effect of each instruction on the types of the stack, where it depends on operands or on other types. */
import * as Fields from '../opcodes/Fields.js'
import type { Instruction } from '../opcodes/Instruction.js'
import * as StackType from '../opcodes/StackType.js'
import { parseInteger } from './Literal.js'

/** The types on the stack and in scratch space, as far as they are known. */
export type TypeState = {
  readonly stack: StackType.StackType[]
  scratch: StackType.StackType[]
  /** The height of the stack at the current `proto`, or undefined without one. */
  readonly frame: number | undefined
  /** Whether nothing is known of the stack, as at the start of a subroutine. */
  readonly isEntry: boolean
  /** Whether there may be values below the known ones. */
  readonly isOpen: boolean
  /** Whether so many values are known. */
  has(count: number): boolean
  /** Returns the type at a depth, where 0 is the top. */
  at(depth: number): StackType.StackType
  /** Begins a subroutine: its arguments are the values that are known. */
  enterFrame(args: number): void
}

/** The types that an instruction takes and gives, and another change of the state. */
export type Effect = {
  readonly args: readonly StackType.StackType[]
  readonly returns: readonly StackType.StackType[]
  readonly update?: () => void
}

type Refinement = (operands: readonly string[], state: TypeState, instruction: Instruction) => Effect | string

const { any, uint64, bytes } = StackType

/** Returns the effect of an instruction, or the reason why it always fails. */
export function effectOf(instruction: Instruction, operands: readonly string[], state: TypeState): Effect | string {
  return refinements[instruction.name]?.(operands, state, instruction) ?? effectByFields(instruction, operands)
}

function effectByFields(instruction: Instruction, operands: readonly string[]): Effect {
  const { args, returns } = instruction
  const index = instruction.immediates.findIndex(({ group }) => group !== undefined)
  const operand = operands[index]
  const group = instruction.immediates[index]?.group
  if (group === undefined || operand === undefined) return { args, returns }
  // Nothing is known of the field after an error in the immediates before it.
  if (operands.length !== instruction.immediates.length) return { args, returns }
  if (operands.slice(0, index).some((text) => smallNumber(text) === undefined)) return { args, returns }
  const type = Fields.named(group, operand)?.type
  if (type === undefined) return { args, returns }
  if (group === 'appParamsSettable') return { args, returns }
  if (group === 'txnSettable') return { args: [type], returns }
  return { args, returns: returns.map((one) => (one === any ? type : one)) }
}

function smallNumber(text: string | undefined): number | undefined {
  const value = parseInteger(text ?? '')
  return typeof value === 'bigint' && value <= 255n ? Number(value) : undefined
}

function signedNumber(text: string | undefined): number | undefined {
  const [, sign, digits] = /^([+-]?)(.*)$/s.exec(text ?? '')!
  const parsed = parseInteger(digits!)
  if (typeof parsed !== 'bigint') return undefined
  const value = sign === '-' ? -parsed : parsed
  return value >= -128n && value <= 127n ? Number(value) : undefined
}

function anys(count: number): StackType.StackType[] {
  return new Array(count).fill(any)
}

/** The top values, deepest first. */
function top(state: TypeState, count: number): StackType.StackType[] {
  return Array.from({ length: count }, (_, index) => state.at(count - 1 - index))
}

/** Effect of an instruction that moves the values above a depth. */
function moving(move: (values: StackType.StackType[]) => StackType.StackType[]): Refinement {
  return (operands, state, { args, returns }) => {
    const depth = smallNumber(operands[0])
    if (depth === undefined) return { args, returns }
    const values = state.has(depth + 1) ? top(state, depth + 1) : anys(depth + 1)
    return { args: anys(depth + 1), returns: move(values) }
  }
}

const equality: Refinement = (_operands, state, { returns }) => ({
  args: [StackType.widened(state.at(0)), any],
  returns,
})

function sameType(a: StackType.StackType, b: StackType.StackType): boolean {
  return a.kind === b.kind && a.min === b.min && a.max === b.max && a.name === b.name
}

function constant(value: StackType.StackType): StackType.StackType | undefined {
  return value.kind === 'uint64' && value.min === value.max ? value : undefined
}

const refinements: { readonly [name: string]: Refinement } = {
  dup: (_operands, state, { args }) => ({ args, returns: [state.at(0), state.at(0)] }),
  dup2: (_operands, state, { args }) => ({ args, returns: [...top(state, 2), ...top(state, 2)] }),
  swap: (_operands, state, { args }) => ({ args, returns: top(state, 2).reverse() }),
  dig: moving((values) => [...values, values[0]!]),
  cover: moving((values) => [values.at(-1)!, ...values.slice(0, -1)]),
  uncover: moving((values) => [...values.slice(1), values[0]!]),
  bury: (operands, state, { args, returns }) => {
    const depth = smallNumber(operands[0])
    if (depth === undefined) return { args, returns }
    if (depth === 0) return 'bury 0 always fails'
    // The place may be below the values that are known.
    if (!state.has(depth + 1)) return { args: state.isOpen ? args : anys(depth + 1), returns }
    const values = top(state, depth + 1)
    return { args: anys(depth + 1), returns: [values.at(-1)!, ...values.slice(1, -1)] }
  },
  popn: (operands) => ({ args: anys(smallNumber(operands[0]) ?? 0), returns: [] }),
  dupn: (operands, state, { args, returns }) => {
    const count = smallNumber(operands[0])
    if (count === undefined || !state.has(1)) return { args, returns }
    return { args, returns: new Array(count + 1).fill(state.at(0)) }
  },
  select: (_operands, state, { args, returns }) => ({
    args,
    returns: state.has(3) ? [StackType.union(state.at(2), state.at(1))] : returns,
  }),
  setbit: (_operands, state, { args, returns }) => ({ args, returns: state.has(3) ? [state.at(2)] : returns }),
  'b+': (_operands, _state, { args }) => ({ args, returns: [StackType.byteString(0n, 65n)] }),
  'b*': (_operands, _state, { args }) => ({ args, returns: [StackType.byteString(0n, 128n)] }),
  '==': equality,
  '!=': equality,
  bzero: () => ({ args: [StackType.integer(0n, BigInt(StackType.maxBytesLength))], returns: [bytes] }),
  load: (operands, state, { args }) => ({ args, returns: [state.scratch[smallNumber(operands[0]) ?? -1] ?? any] }),
  store: (operands, state, { args, returns }) => {
    const index = smallNumber(operands[0])
    if (index === undefined || !state.has(1)) return { args, returns }
    return { args, returns, update: storing(state, index, state.at(0)) }
  },
  loads: (_operands, state, { args, returns }) => {
    if (!state.has(1)) return { args, returns }
    const index = constant(state.at(0))
    const slot = index === undefined ? undefined : state.scratch[Number(index.min)]
    return { args, returns: [slot ?? state.scratch.reduce((all, one) => (sameType(all, one) ? all : any))] }
  },
  stores: (_operands, state, { args, returns }) => {
    if (!state.has(1)) return { args, returns }
    const index = constant(state.at(1))
    return { args, returns, update: storing(state, index === undefined ? undefined : Number(index.min), state.at(0)) }
  },
  pushints: (operands, _state, { args }) => ({ args, returns: operands.map(() => uint64) }),
  pushbytess: (operands, _state, { args }) => ({ args, returns: operands.map(() => bytes) }),
  match: (operands, _state, { args, returns }) => ({ args: [...anys(operands.length), ...args], returns }),
  proto: (operands, state, { args, returns }) => {
    const [count, results] = [smallNumber(operands[0]), smallNumber(operands[1])]
    if (count === undefined || results === undefined) return { args, returns }
    if (!state.isEntry) return 'proto must be unreachable from previous PC'
    return { args, returns, update: () => state.enterFrame(count) }
  },
  frame_dig: (operands, state, { args }) => {
    const slot = frameSlot('frame_dig', signedNumber(operands[0]), state, state.stack.length)
    return typeof slot === 'string' ? slot : { args, returns: [slot === undefined ? any : state.stack[slot]!] }
  },
  frame_bury: (operands, state, { args, returns }) => {
    const offset = signedNumber(operands[0])
    const slot = frameSlot('frame_bury', offset, state, state.stack.length - 1)
    if (typeof slot === 'string') return slot
    if (offset === undefined) return { args, returns }
    const value = state.at(0)
    return {
      args,
      returns,
      update: () => {
        if (slot !== undefined) state.stack[slot] = value
        else if (state.frame === undefined) forgetOthers(state, value)
      },
    }
  },
}

/** A value that may be written anywhere leaves no other type known. */
function forgetOthers({ stack }: TypeState, value: StackType.StackType): void {
  for (const [index, type] of stack.entries()) {
    if (type !== value) stack[index] = any
  }
}

function storing(state: TypeState, index: number | undefined, value: StackType.StackType): () => void {
  return () => {
    if (index !== undefined) {
      if (index < state.scratch.length) state.scratch[index] = value
      return
    }
    state.scratch = state.scratch.map((slot) => StackType.union(slot, value))
  }
}

function frameSlot(
  name: string,
  offset: number | undefined,
  { frame }: TypeState,
  height: number,
): number | string | undefined {
  if (frame === undefined || offset === undefined) return undefined
  const slot = frame + offset
  if (slot < 0) return `${name} ${offset} in sub with ${frame} args`
  return slot >= height ? `${name} above stack` : slot
}
