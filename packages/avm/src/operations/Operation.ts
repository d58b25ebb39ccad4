import { Call } from '../application/model.js'
import type { Machine } from '../evaluator/Machine.js'
import type { Value } from '../evaluator/Value.js'

/** Performs an instruction. The kinds of its arguments have been checked. */
export type Operation = (machine: Machine) => void

/** Operations by the names of their instructions. */
export type Operations = { readonly [name: string]: Operation }

/** The application call that runs. Operations of applications are refused in logic signatures before they are performed. */
export function callOf({ call }: Machine): Call {
  if (call instanceof Call) return call
  throw new TypeError('a logic signature has no application call')
}

type Result = Value | readonly Value[]
type Compute = (...args: never[]) => Result

/** Changes the stack after a failure, because the stack of a failed program is part of the recorded behaviour. */
export type OnFailure = (stack: Value[], base: number) => void

/** A failure leaves the arguments. */
const untouched: OnFailure = () => undefined

/** A failure leaves the number zero in place of the arguments. */
export const zero: OnFailure = (stack, base) => {
  stack.length = base
  stack.push(0n)
}

/** A failure drops the last argument. */
export const withoutLast: OnFailure = (stack) => {
  stack.pop()
}

/** An operation that replaces its arguments by what a function returns for them. */
export function pure(compute: Compute, onFailure: OnFailure = untouched): Operation {
  const count = compute.length
  const apply = compute as (...args: Value[]) => Result
  return ({ stack }) => {
    const base = stack.length - count
    let result: Result
    try {
      // Most operations have one or two arguments, and take less time than a list of them.
      if (count === 1) result = apply(stack[base]!)
      else if (count === 2) result = apply(stack[base]!, stack[base + 1]!)
      else result = apply(...stack.slice(base))
    } catch (error) {
      onFailure(stack, base)
      throw error
    }
    stack.length = base
    if (typeof result === 'bigint' || result instanceof Uint8Array) stack.push(result)
    else stack.push(...result)
  }
}
