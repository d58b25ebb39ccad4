/** Arithmetic and logic on uint64 values. */
import { Bytes } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import { fromBoolean, kindOf, type Value } from '../evaluator/Value.js'
import { maxUint64 } from '../opcodes/StackType.js'
import { type Operations, pure } from './Operation.js'

const wordBits = 64n

/** Operations on numbers. */
export const arithmetic: Operations = {
  '+': pure((a: bigint, b: bigint) => fitting(a + b, '+')),
  '-': pure((a: bigint, b: bigint) => {
    if (b > a) throw new EvaluationError('- would result negative')
    return a - b
  }),
  '/': pure((a: bigint, b: bigint) => a / nonZero(b, '/ 0')),
  '%': pure((a: bigint, b: bigint) => a % nonZero(b, '% 0')),
  '*': pure((a: bigint, b: bigint) => fitting(a * b, '*')),
  '<': pure((a: bigint, b: bigint) => fromBoolean(a < b)),
  '>': pure((a: bigint, b: bigint) => fromBoolean(a > b)),
  '<=': pure((a: bigint, b: bigint) => fromBoolean(a <= b)),
  '>=': pure((a: bigint, b: bigint) => fromBoolean(a >= b)),
  '&&': pure((a: bigint, b: bigint) => fromBoolean(a !== 0n && b !== 0n)),
  '||': pure((a: bigint, b: bigint) => fromBoolean(a !== 0n || b !== 0n)),
  '==': pure((a: Value, b: Value) => fromBoolean(isEqual(a, b))),
  '!=': pure((a: Value, b: Value) => fromBoolean(!isEqual(a, b))),
  '!': pure((a: bigint) => fromBoolean(a === 0n)),
  '|': pure((a: bigint, b: bigint) => a | b),
  '&': pure((a: bigint, b: bigint) => a & b),
  '^': pure((a: bigint, b: bigint) => a ^ b),
  '~': pure((a: bigint) => a ^ maxUint64),
  mulw: pure((a: bigint, b: bigint) => words(a * b)),
  addw: pure((a: bigint, b: bigint) => words(a + b)),
  divmodw: pure((high: bigint, low: bigint, divisorHigh: bigint, divisorLow: bigint) => {
    const dividend = (high << wordBits) | low
    const divisor = nonZero((divisorHigh << wordBits) | divisorLow, '/ 0')
    return [...words(dividend / divisor), ...words(dividend % divisor)]
  }),
  divw: pure((high: bigint, low: bigint, divisor: bigint) => {
    nonZero(divisor, 'divw 0')
    if (divisor <= high) throw new EvaluationError(`divw overflow: ${divisor} <= ${high}`)
    return ((high << wordBits) | low) / divisor
  }),
  shl: pure((a: bigint, b: bigint) => (a << shift(b, 'shl')) & maxUint64),
  shr: pure((a: bigint, b: bigint) => a >> shift(b, 'shr')),
  sqrt: pure((a: bigint) => squareRoot(a)),
  exp: pure((base: bigint, exponent: bigint) => power(base, exponent, maxUint64)),
  expw: pure((base: bigint, exponent: bigint) => words(power(base, exponent, (1n << 128n) - 1n))),
}

/** The integer part of a square root. */
export function squareRoot(value: bigint): bigint {
  if (value < 2n) return value
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2))
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

function fitting(value: bigint, name: string): bigint {
  if (value > maxUint64) throw new EvaluationError(`${name} overflowed`)
  return value
}

function nonZero(value: bigint, problem: string): bigint {
  if (value === 0n) throw new EvaluationError(problem)
  return value
}

function isEqual(a: Value, b: Value): boolean {
  if (typeof a === 'bigint' && typeof b === 'bigint') return a === b
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Bytes.equal(a, b)
  throw new EvaluationError(`cannot compare (${kindOf(a)} to ${kindOf(b)})`)
}

function words(value: bigint): [bigint, bigint] {
  return [value >> wordBits, value & maxUint64]
}

function shift(count: bigint, name: string): bigint {
  if (count >= wordBits) throw new EvaluationError(`${name} arg too big, (${count})`)
  return count
}

function power(base: bigint, exponent: bigint, max: bigint): bigint {
  if (exponent === 0n) {
    if (base === 0n) throw new EvaluationError('0^0 is undefined')
    return 1n
  }
  if (base < 2n) return base
  // A base of n bits is at least 2^(n - 1), so what is calculated has at most twice the bits of the limit.
  const bits = BigInt(base.toString(2).length - 1)
  const result = bits * exponent > BigInt(max.toString(2).length) ? undefined : base ** exponent
  if (result === undefined || result > max) throw new EvaluationError(`${base}^${exponent} overflow`)
  return result
}
