/** Operations on parts of byte strings, and on bits. */
import { Bytes } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import { decodeInteger, encodeUint64, type Value } from '../evaluator/Value.js'
import { maxUint64 } from '../opcodes/StackType.js'
import { type Operation, type Operations, pure, zero } from './Operation.js'
import * as Words from './words.js'

const maxInt31 = 0x7fffffffn

const substring3 = pure((bytes: Uint8Array, start: bigint, end: bigint) => substring(bytes, start, end), zero)

/** Operations on byte strings and bits. */
export const byteStrings: Operations = {
  len: pure((bytes: Uint8Array) => BigInt(bytes.length)),
  itob: pure((value: bigint) => encodeUint64(value)),
  btoi: pure((bytes: Uint8Array) => {
    if (bytes.length > 8) throw new EvaluationError(`btoi arg too long, got ${bytes.length} bytes`)
    return decodeInteger(bytes)
  }),
  concat: pure((a: Uint8Array, b: Uint8Array) => Bytes.concat([a, b])),
  substring: (machine) => {
    const [start, end] = [machine.immediate(1), machine.immediate(2)]
    pure((bytes: Uint8Array) => substring(bytes, BigInt(start), BigInt(end)), zero)(machine)
  },
  substring3: (machine) => {
    const [start, end] = machine.stack.slice(-2) as bigint[]
    if (start! > maxInt31 || end! > maxInt31) throw new EvaluationError('substring range beyond length of string')
    substring3(machine)
  },
  extract: (machine) => {
    const [start, length] = [machine.immediate(1), machine.immediate(2)]
    pure((bytes: Uint8Array) => {
      if (length > 0) return extract(bytes, BigInt(start), BigInt(length))
      return extract(bytes, BigInt(start), BigInt(Math.max(0, bytes.length - start)))
    }, zero)(machine)
  },
  extract3: pure((bytes: Uint8Array, start: bigint, length: bigint) => extract(bytes, start, length), zero),
  extract_uint16: extractInteger(2n),
  extract_uint32: extractInteger(4n),
  extract_uint64: extractInteger(8n),
  replace2: (machine) => {
    const start = BigInt(machine.immediate(1))
    pure((bytes: Uint8Array, part: Uint8Array) => replace(bytes, start, part))(machine)
  },
  replace3: pure((bytes: Uint8Array, start: bigint, part: Uint8Array) => replace(bytes, start, part)),
  getbyte: pure((bytes: Uint8Array, index: bigint) => BigInt(bytes[byteIndex(bytes, index, 'getbyte')]!)),
  setbyte: pure((bytes: Uint8Array, index: bigint, value: bigint) => {
    if (value > 255n) throw new EvaluationError('setbyte value > 255')
    return withByte(bytes, byteIndex(bytes, index, 'setbyte'), Number(value))
  }),
  getbit: pure((target: Value, index: bigint) => {
    if (typeof target === 'bigint') return (target >> wordBit(index, 'getbit')) & 1n
    const { byte, mask } = bitPlace(target, index, 'getbit')
    return (target[byte]! & mask) === 0 ? 0n : 1n
  }),
  setbit: pure((target: Value, index: bigint, bit: bigint) => {
    if (bit > 1n) throw new EvaluationError('setbit value > 1')
    if (typeof target === 'bigint') {
      const mask = 1n << wordBit(index, 'setbit')
      return bit === 1n ? target | mask : target & (maxUint64 ^ mask)
    }
    const { byte, mask } = bitPlace(target, index, 'setbit')
    return withByte(target, byte, bit === 1n ? target[byte]! | mask : target[byte]! & ~mask)
  }),
  bitlen: pure((value: Value) => {
    const bytes = typeof value === 'bigint' ? encodeUint64(value) : value
    const first = Words.firstNonZero(bytes)
    return first === bytes.length ? 0n : BigInt(8 * (bytes.length - first) - (Math.clz32(bytes[first]!) - 24))
  }),
}

function substring(bytes: Uint8Array, start: bigint, end: bigint): Uint8Array {
  if (end < start) throw new EvaluationError('substring end before start')
  if (end > BigInt(bytes.length)) throw new EvaluationError('substring range beyond length of string')
  return bytes.subarray(Number(start), Number(end))
}

/** A part of a byte string. */
export function extract(bytes: Uint8Array, start: bigint, length: bigint): Uint8Array {
  const end = start + length
  if (start > BigInt(bytes.length)) {
    throw new EvaluationError(`extraction start ${start} is beyond length: ${bytes.length}`)
  }
  if (end > maxUint64) throw new EvaluationError('extraction end exceeds uint64')
  if (end > BigInt(bytes.length)) throw new EvaluationError(`extraction end ${end} is beyond length: ${bytes.length}`)
  return bytes.subarray(Number(start), Number(end))
}

function extractInteger(length: bigint): Operation {
  return pure((bytes: Uint8Array, start: bigint) => decodeInteger(extract(bytes, start, length)))
}

/** A copy of a byte string with a part replaced. */
export function replace(bytes: Uint8Array, start: bigint, part: Uint8Array): Uint8Array {
  if (start > BigInt(bytes.length)) {
    throw new EvaluationError(`replacement start ${start} beyond length: ${bytes.length}`)
  }
  const end = start + BigInt(part.length)
  if (end > BigInt(bytes.length)) {
    throw new EvaluationError(`replacement end ${end} beyond original length: ${bytes.length}`)
  }
  const result = bytes.slice()
  result.set(part, Number(start))
  return result
}

function byteIndex(bytes: Uint8Array, index: bigint, name: string): number {
  if (index >= BigInt(bytes.length)) throw new EvaluationError(`${name} index beyond array length`)
  return Number(index)
}

function withByte(bytes: Uint8Array, index: number, value: number): Uint8Array {
  const result = bytes.slice()
  result[index] = value
  return result
}

/** Bits of numbers count from the lowest. */
function wordBit(index: bigint, name: string): bigint {
  if (index > 63n) throw new EvaluationError(`${name} index > 63 with Uint`)
  return index
}

/** Bits of byte strings count from the highest bit of the first byte. */
function bitPlace(bytes: Uint8Array, index: bigint, name: string): { byte: number; mask: number } {
  if (index >= BigInt(8 * bytes.length)) throw new EvaluationError(`${name} index beyond byteslice`)
  return { byte: Number(index >> 3n), mask: 0x80 >> Number(index & 7n) }
}
