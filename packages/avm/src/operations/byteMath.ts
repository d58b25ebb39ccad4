/** Arithmetic on byte strings as big-endian numbers of up to 64 bytes, and logic on byte strings of any length. */
import { EvaluationError } from '../evaluator/EvaluationError.js'
import { decodeInteger, encodeInteger, fromBoolean } from '../evaluator/Value.js'
import { maxBytesLength } from '../opcodes/StackType.js'
import { squareRoot } from './arithmetic.js'
import { type OnFailure, type Operation, type Operations, pure } from './Operation.js'
import * as Words from './words.js'

const maxNumberBytes = 64

/** A calculation without a result leaves no bytes in place of its arguments. */
const noBytes: OnFailure = (stack, base) => {
  stack.length = base
  stack.push(new Uint8Array())
}

/** Two comparisons leave their arguments in the other order. */
const swapped: OnFailure = (stack) => {
  stack.push(...stack.splice(-2).reverse())
}

/** Operations on byte strings as numbers. */
export const byteMath: Operations = {
  'b+': calculate((a, b) => a + b),
  'b-': pure((a: Uint8Array, b: Uint8Array) => {
    const difference = numberOf(a) - numberOf(b)
    if (difference < 0n) throw new EvaluationError('byte math would have negative result')
    return encodeInteger(difference)
  }),
  'b*': calculate((a, b) => a * b),
  'b/': calculate((a, b) => {
    if (b === 0n) throw new EvaluationError('division by zero')
    return a / b
  }),
  'b%': calculate((a, b) => {
    if (b === 0n) throw new EvaluationError('modulo by zero')
    return a % b
  }),
  'b<': compare((a, b) => a < b),
  'b>': compare((a, b) => a > b, swapped),
  'b<=': compare((a, b) => a <= b, swapped),
  'b>=': compare((a, b) => a >= b),
  'b==': compare((a, b) => a === b),
  'b!=': compare((a, b) => a !== b),
  bsqrt: pure((a: Uint8Array) => encodeInteger(squareRoot(numberOf(a)))),
  'b|': combine((a, b) => a | b),
  'b&': combine((a, b) => a & b),
  'b^': combine((a, b) => a ^ b),
  'b~': pure((a: Uint8Array) => Words.complement(a)),
  bzero: pure((length: bigint) => {
    if (length > BigInt(maxBytesLength)) throw new EvaluationError('bzero attempted to create a too large string')
    return new Uint8Array(Number(length))
  }),
}

function numberOf(bytes: Uint8Array): bigint {
  if (bytes.length > maxNumberBytes) throw new EvaluationError('math attempted on large byte-array')
  return decodeInteger(bytes)
}

function calculate(compute: (a: bigint, b: bigint) => bigint): Operation {
  const operation = pure((a: Uint8Array, b: Uint8Array) => {
    return encodeInteger(compute(decodeInteger(a), decodeInteger(b)))
  }, noBytes)
  return (machine) => {
    expectNumbers(machine.stack.slice(-2) as Uint8Array[])
    operation(machine)
  }
}

function expectNumbers(values: readonly Uint8Array[]): void {
  if (values.some(({ length }) => length > maxNumberBytes)) {
    throw new EvaluationError('math attempted on large byte-array')
  }
}

function compare(holds: (a: bigint, b: bigint) => boolean, onFailure?: OnFailure): Operation {
  return pure((a: Uint8Array, b: Uint8Array) => fromBoolean(holds(numberOf(a), numberOf(b))), onFailure)
}

function combine(compute: (a: number, b: number) => number): Operation {
  return pure((a: Uint8Array, b: Uint8Array) => Words.combine(a, b, compute))
}
