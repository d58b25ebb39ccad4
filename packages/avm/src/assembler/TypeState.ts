import type { StackType } from '../opcodes/StackType.js'

/** The types on the stack and in scratch space, as far as they are known. */
export type TypeState = {
  readonly stack: StackType[]
  scratch: StackType[]
  /** The height of the stack at the current `proto`, or undefined without one. */
  readonly frame: number | undefined
  /** Whether nothing is known of the stack, as at the start of a subroutine. */
  readonly isEntry: boolean
  /** Whether so many values are known. */
  has(count: number): boolean
  /** Returns the type at a depth, where 0 is the top. */
  at(depth: number): StackType
  /** Begins a subroutine: its arguments are the values that are known. */
  enterFrame(args: number): void
}
