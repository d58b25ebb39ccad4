/** Decodes constants as the evaluator reads them. */
import * as Varint from '../encoding/Varint.js'

/** Several constants, and the offset after them. */
export type Block<Value> = { readonly values: readonly Value[]; readonly end: number }

/** A constant, and the offset after it. */
export type Constant<Value> = { readonly value: Value; readonly end: number }

/** Decodes the list of `intcblock` and `pushints`. Returns the problem if it is incomplete. */
export function decodeIntegers(program: Uint8Array, start: number): Block<bigint> | string {
  const count = Varint.decode(program, start)
  if (count === undefined) return `could not decode length of int list at pc=${start}`
  if (count.value > BigInt(program.length)) return 'const int list with too many items'
  let end = start + count.length
  const values: bigint[] = []
  while (values.length < Number(count.value)) {
    if (end >= program.length) return 'const int list ran past end of program'
    const decoded = Varint.decode(program, end)
    if (decoded === undefined) return `could not decode int const[${values.length}] at pc=${end}`
    values.push(decoded.value)
    end += decoded.length
  }
  return { values, end }
}

/** Decodes the list of `bytecblock` and `pushbytess`. */
export function decodeByteStrings(program: Uint8Array, start: number): Block<Uint8Array> | string {
  const count = Varint.decode(program, start)
  if (count === undefined) return `could not decode length of bytes list at pc=${start}`
  if (count.value > BigInt(program.length)) return 'const bytes list with too many items'
  let offset = start + count.length
  const values: Uint8Array[] = []
  while (values.length < Number(count.value)) {
    if (offset >= program.length) return 'const bytes list ran past end of program'
    const length = Varint.decode(program, offset)
    if (length === undefined) return `could not decode []byte const[${values.length}] at pc=${offset}`
    offset += length.length
    if (length.value > BigInt(program.length - offset)) return 'const bytes list ran past end of program'
    const end = offset + Number(length.value)
    values.push(program.subarray(offset, end))
    offset = end
  }
  return { values, end: offset }
}

/** Decodes the constant of `pushint`. */
export function decodeInteger(program: Uint8Array, start: number): Constant<bigint> | string {
  const decoded = Varint.decode(program, start)
  if (decoded === undefined) return `could not decode int at program[${start}]`
  return { value: decoded.value, end: start + decoded.length }
}

/** Decodes the constant of `pushbytes`. */
export function decodeByteString(program: Uint8Array, start: number): Constant<Uint8Array> | string {
  const length = Varint.decode(program, start)
  if (length === undefined) return `could not decode length at program[${start}]`
  const offset = start + length.length
  if (length.value > BigInt(program.length - offset)) return `pushbytes too long at program[${offset}]`
  const end = offset + Number(length.value)
  return { value: program.subarray(offset, end), end }
}
