/** Tracks the types on the stack along straight code, to refuse programs that would always fail. */
import type { Instruction } from '../opcodes/Instruction.js'
import * as StackType from '../opcodes/StackType.js'
import { type Effect, effectOf, type TypeState } from './stackEffects.js'

const deadening = new Set(['err', 'b', 'return', 'retsub'])

/** The known part of the stack. */
export class TypeTracker implements TypeState {
  #isEnabled = true
  stack: StackType.StackType[] = []
  scratch: StackType.StackType[] = new Array(256).fill(StackType.integer(0n, 0n))
  /** The height of the stack at the current `proto`, or undefined without one. */
  frame: number | undefined
  #isLive = true
  /** Whether there may be more values below {@link stack}. */
  #isOpen = false

  /** Whether nothing is known of the stack, as at the start of a subroutine. */
  get isEntry(): boolean {
    return this.#isOpen && this.stack.length === 0
  }

  /** Whether the next instruction can be reached. */
  get isLive(): boolean {
    return this.#isLive
  }

  /** Whether there may be values below the known ones. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Switches the tracking on or off. Nothing is known of the stack after it was off. */
  enable(isEnabled: boolean): void {
    if (isEnabled && !this.#isEnabled) {
      this.#forget()
      this.#isLive = true
    }
    this.#isEnabled = isEnabled
  }

  /** Continues at a label. Everything is possible there if the code before cannot reach it. */
  label(): void {
    if (this.#isLive) return
    this.#forget()
    this.#isLive = true
  }

  /** Begins a subroutine: its arguments are the values that are known. */
  enterFrame(args: number): void {
    this.stack = new Array(args).fill(StackType.any)
    this.frame = args
  }

  /** Whether so many values are known. */
  has(count: number): boolean {
    return this.stack.length >= count
  }

  /** Returns the type at a depth, where 0 is the top. */
  at(depth: number): StackType.StackType {
    return this.stack[this.stack.length - 1 - depth] ?? StackType.any
  }

  /** Applies an instruction, whose name in messages is `shown`. Returns the problems, if it cannot succeed. */
  apply(instruction: Instruction, operands: readonly string[], shown: string): string[] {
    if (!this.#isLive) {
      // Nothing is checked against the stack here, but an instruction that fails on any stack is still an error.
      const refined = effectOf(instruction, operands, this)
      if (typeof refined !== 'string') refined.update?.()
      if (instruction.name === 'callsub') this.label()
      return this.#isEnabled && typeof refined === 'string' ? [refined] : []
    }
    const statement = [shown, ...operands].join(' ')
    const refined = effectOf(instruction, operands, this)
    const effect = typeof refined === 'string' ? instruction : refined
    const problems = [...(typeof refined === 'string' ? [refined] : []), ...this.#pop(statement, effect)]
    if ('update' in effect) effect.update?.()
    this.stack.push(...effect.returns)
    this.#finish(instruction)
    return this.#isEnabled ? problems : []
  }

  #pop(statement: string, { args }: Effect): string[] {
    const { length } = this.stack
    if (length < args.length && !this.#isOpen) {
      return [`${statement} expects ${args.length} stack arguments but stack height is ${length}`]
    }
    const problems: string[] = []
    for (let index = args.length - 1; index >= 0; index--) {
      const wanted = args[index]!
      const actual = this.stack.pop() ?? StackType.any
      if (!StackType.overlaps(wanted, actual)) {
        problems.push(`${statement} arg ${index} wanted type ${wanted.name} got ${actual.name}`)
      }
    }
    return problems
  }

  #finish({ name }: Instruction): void {
    if (name === 'callsub') this.#forget()
    if (!deadening.has(name)) return
    this.#isLive = false
    this.stack = []
  }

  #forget(): void {
    this.stack = []
    this.scratch.fill(StackType.any)
    this.frame = undefined
    this.#isOpen = true
  }
}
