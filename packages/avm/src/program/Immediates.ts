/** Decodes instructions and their immediates. */
import * as Varint from '../encoding/Varint.js'
import * as Fields from '../opcodes/Fields.js'
import * as Instruction from '../opcodes/Instruction.js'
import * as ConstantBlock from './ConstantBlock.js'

/** An immediate. Branches are absolute targets. */
export type Value = number | bigint | Uint8Array | readonly number[] | readonly bigint[] | readonly Uint8Array[]

/** The immediates of an instruction, and where it ends. */
export type Decoded = { readonly values: readonly Value[]; readonly end: number }

/** Finds the instruction at an offset. Returns the problem if there is none. */
export function instructionAt(
  program: Uint8Array,
  pc: number,
  version: number,
): { instruction: Instruction.Instruction } | string {
  const opcode = program[pc]!
  if (Instruction.isPrefix(version, opcode)) {
    const suffix = program[pc + 1]
    if (suffix === undefined) return `prefix opcode ${hexOf(opcode)} without sub-opcode`
    const instruction = Instruction.withCode(version, opcode, suffix)
    return instruction === undefined
      ? `prefix opcode ${hexOf(opcode)} with improper sub-opcode ${hexOf(suffix)}`
      : { instruction }
  }
  const instruction = Instruction.withCode(version, opcode)
  return instruction === undefined ? `illegal opcode ${hexOf(opcode)}` : { instruction }
}

/** Decodes the immediates of the instruction at an offset. Returns the problem if they are incomplete. */
export function decode(program: Uint8Array, pc: number, instruction: Instruction.Instruction): Decoded | string {
  const values: Value[] = []
  let offset = pc + (instruction.suffix === undefined ? 1 : 2)
  for (const immediate of instruction.immediates) {
    const decoded = decodeOne(program, pc, offset, instruction.name, immediate)
    if (typeof decoded === 'string') return decoded
    values.push(decoded.value)
    offset = decoded.end
  }
  return { values, end: offset }
}

type One = { readonly value: Value; readonly end: number }

function decodeOne(
  program: Uint8Array,
  pc: number,
  offset: number,
  name: string,
  immediate: Instruction.Immediate,
): One | string {
  switch (immediate.kind) {
    case 'uint8':
    case 'int8':
      return decodeSmall(program, offset, name, immediate)
    case 'int16be': {
      if (offset + 2 > program.length) return `program end while reading label for ${name}`
      return { value: offset + 2 + int16At(program, offset), end: offset + 2 }
    }
    case 'varint': {
      const decoded = Varint.decodeSigned(program, offset)
      if (decoded === undefined) return `could not decode label for ${name}`
      const end = offset + decoded.length
      return { value: Number(decoded.value) + (decoded.value < 0n ? pc : end), end }
    }
    case 'varuint': {
      const decoded = Varint.decode(program, offset)
      if (decoded === undefined) return `could not decode immediate uint for ${name}`
      return { value: decoded.value, end: offset + decoded.length }
    }
    case 'bytes': {
      const length = Varint.decode(program, offset)
      const end = length === undefined ? Number.POSITIVE_INFINITY : offset + length.length + Number(length.value)
      if (end > program.length) return `could not decode immediate bytes for ${name}`
      return { value: program.subarray(offset + length!.length, end), end }
    }
    case 'varuints':
      return listOf(ConstantBlock.decodeIntegers(program, offset))
    case 'byteses':
      return listOf(ConstantBlock.decodeByteStrings(program, offset))
    default:
      return decodeTargets(program, offset, name)
  }
}

function decodeSmall(
  program: Uint8Array,
  offset: number,
  name: string,
  { kind, group, name: immediateName }: Instruction.Immediate,
): One | string {
  const byte = program[offset]
  if (byte === undefined) return `program end while reading immediate ${immediateName} for ${name}`
  if (group !== undefined && Fields.withByte(group, byte) === undefined) {
    return `invalid immediate ${immediateName} for ${name}: ${byte}`
  }
  return { value: kind === 'int8' && byte > 127 ? byte - 256 : byte, end: offset + 1 }
}

function listOf(block: ConstantBlock.Block<bigint | Uint8Array> | string): One | string {
  return typeof block === 'string' ? block : { value: block.values as Value, end: block.end }
}

function decodeTargets(program: Uint8Array, start: number, name: string): One | string {
  const count = program[start]
  if (count === undefined) return `could not decode label count for ${name}`
  const end = start + 1 + 2 * count
  if (end > program.length) return `could not decode labels for ${name}`
  return { value: Array.from({ length: count }, (_, index) => end + int16At(program, start + 1 + 2 * index)), end }
}

function int16At(program: Uint8Array, offset: number): number {
  const value = (program[offset]! << 8) | program[offset + 1]!
  return value > 0x7fff ? value - 0x10000 : value
}

function hexOf(byte: number): string {
  return `0x${byte.toString(16).padStart(2, '0')}`
}
