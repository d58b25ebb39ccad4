/** Targets of branches. */
import * as Varint from '../encoding/Varint.js'

/** The first version whose branches have offsets of variable length. */
const variableVersion = 13
/** The first version that can branch backwards. */
const backwardVersion = 4
/** The first version that can branch to the end of the program. */
const endVersion = 2

/** A decoded branch. */
export type Branch = { readonly target: number; readonly end: number }

/** The decoded targets of `switch` or `match`. */
export type Table = { readonly targets: readonly number[]; readonly end: number }

/** Decodes the branch at an offset. Returns the problem if its target is outside of the program. */
export function decode(program: Uint8Array, pc: number, version: number): Branch | string {
  const branch = version >= variableVersion ? decodeVariable(program, pc) : decodeFixed(program, pc, version)
  return typeof branch === 'string' ? branch : (problemWith(branch.target, program, version) ?? branch)
}

/** Whether a branch that is not taken must still have a valid target. */
export function isAlwaysChecked(version: number): boolean {
  return version >= variableVersion
}

/** Decodes the targets of `switch` and `match`: a count, then two bytes for each. Targets are not checked. */
export function decodeTable(program: Uint8Array, pc: number, name: string): Table | string {
  const count = program[pc + 1]
  if (count === undefined) return `bare ${name} opcode at end of program`
  const end = pc + 2 + 2 * count
  if (end > program.length) return `${name} opcode claims to extend beyond program`
  const targets = Array.from({ length: count }, (_, index) => end + int16At(program, pc + 2 + 2 * index))
  return { targets, end }
}

/** The problem with a target, or undefined. */
export function problemWith(target: number, program: Uint8Array, version: number): string | undefined {
  if (version < endVersion && target === program.length) return `branch target ${target} outside of program`
  return outside(BigInt(target), program)
}

function outside(target: bigint, program: Uint8Array): string | undefined {
  return target < 0n || target > BigInt(program.length) ? `branch target ${target} outside of program` : undefined
}

function decodeFixed(program: Uint8Array, pc: number, version: number): Branch | string {
  const offset = int16At(program, pc + 1)
  if (offset < 0 && version < backwardVersion) return `negative branch offset ${offset.toString(16)}`
  return { target: pc + 3 + offset, end: pc + 3 }
}

function decodeVariable(program: Uint8Array, pc: number): Branch | string {
  if (pc + 1 >= program.length) return 'program ends without branch target'
  const offset = Varint.decodeSigned(program, pc + 1)
  if (offset === undefined) return `could not decode branch offset at program[${pc + 1}]`
  const end = pc + 1 + offset.length
  const target = offset.value + BigInt(offset.value < 0n ? pc : end)
  // A number has fewer digits than an offset may have.
  return outside(target, program) ?? { target: Number(target), end }
}

function int16At(program: Uint8Array, offset: number): number {
  const value = (program[offset]! << 8) | program[offset + 1]!
  return value > 0x7fff ? value - 0x10000 : value
}
