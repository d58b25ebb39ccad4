/** Encodes the operands of instructions. */
import { quote } from '../encoding/quote.js'
import * as Varint from '../encoding/Varint.js'
import * as Fields from '../opcodes/Fields.js'
import type { Immediate, Instruction } from '../opcodes/Instruction.js'
import { maxBytesLength } from '../opcodes/StackType.js'
import { parseBytes, parseInteger } from './Literal.js'
import type { Content, Place, Program } from './Program.js'
import * as Token from './Token.js'

/** A statement: an instruction and its operands. */
export type Statement = {
  readonly name: Token.Token
  readonly operands: readonly Token.Token[]
}

/** How messages name an instruction that one of several names stands for. */
export type Naming = {
  /** The name in messages. */
  readonly name: string
  /** The name with the number of immediates, such as `txn with 2 immediates`. */
  readonly qualified: string
  /** The other instructions that the name stands for, by the number of immediates. */
  readonly others: ReadonlyMap<number, Instruction>
}

const maxTargets = 255

/** Encodes a statement. Returns undefined after an error. */
export function encode(
  program: Program,
  instruction: Instruction,
  statement: Statement,
  naming: Naming = { name: instruction.name, qualified: instruction.name, others: new Map() },
): Content | undefined {
  const { immediates, opcode } = instruction
  const { operands } = statement
  switch (immediates[0]?.kind) {
    case 'int16be':
    case 'varint':
      if (!expectCount(program, statement, naming.name, 1)) return undefined
      return { kind: 'branch', opcode, target: operands[0]! }
    case 'int16s': {
      const excess = operands[maxTargets]
      if (excess === undefined) return { kind: 'switch', opcode, targets: operands }
      program.fail(excess, `${naming.name} cannot take more than ${maxTargets} labels`)
      return undefined
    }
    case 'varuint':
      return encodeInteger(program, instruction, statement)
    case 'varuints':
      return encodeIntegers(program, opcode, operands)
    case 'bytes':
      return encodeBytes(program, instruction, statement)
    case 'byteses':
      return encodeByteStrings(program, instruction, statement)
    default:
      return encodeSmall(program, instruction, statement, naming)
  }
}

/** Checks the number of operands. */
export function expectCount(program: Program, { name, operands }: Statement, shown: string, count: number): boolean {
  if (operands.length === count) return true
  const last = operands.at(-1) ?? name
  const place: Place = operands[count] ?? { line: last.line, column: Token.end(last) }
  program.fail(place, `${shown} expects ${count} immediate argument${count === 1 ? '' : 's'}`)
  return false
}

/** Parses the only operand of `byte` and `pushbytes`. */
export function parseOnlyBytes(program: Program, { name, operands }: Statement): Uint8Array | undefined {
  if (operands.length === 0) {
    program.fail({ line: name.line, column: Token.end(name) }, `${name.text} needs byte literal argument`)
    return undefined
  }
  const parsed = parseBytes(operands)
  if ('problem' in parsed) {
    program.fail(parsed.token, `${name.text} ${parsed.problem}`)
    return undefined
  }
  const extra = operands[parsed.taken]
  if (extra === undefined) return parsed.value
  program.fail(extra, `${name.text} with extraneous argument`)
  return undefined
}

function encodeInteger(program: Program, { opcode, name }: Instruction, statement: Statement): Content | undefined {
  if (!expectCount(program, statement, name, 1)) return undefined
  const operand = statement.operands[0]!
  const value = parseInteger(operand.text)
  if (typeof value === 'bigint') return { kind: 'plain', bytes: [opcode, ...Varint.encode(value)] }
  program.fail(operand, `unable to parse ${quote(operand.text)} as integer`)
  return undefined
}

function encodeIntegers(program: Program, opcode: number, operands: readonly Token.Token[]): Content {
  const encoded: number[] = []
  for (const operand of operands) {
    const value = parseInteger(operand.text)
    if (typeof value === 'bigint') encoded.push(...Varint.encode(value))
    else program.fail(operand, `strconv.ParseUint: parsing ${quote(operand.text)}: ${value}`)
  }
  return { kind: 'plain', bytes: [opcode, ...Varint.encode(BigInt(operands.length)), ...encoded] }
}

function encodeBytes(program: Program, { opcode, name }: Instruction, statement: Statement): Content | undefined {
  const value = parseOnlyBytes(program, statement)
  if (value === undefined) return undefined
  if (value.length > maxBytesLength) {
    program.fail(statement.operands[0]!, `${name} value is too big (${value.length} bytes, limit ${maxBytesLength})`)
    return undefined
  }
  return { kind: 'plain', bytes: [opcode, ...Varint.encode(BigInt(value.length)), ...value] }
}

function encodeByteStrings(program: Program, instruction: Instruction, statement: Statement): Content | undefined {
  const { name, opcode } = instruction
  program.hasOpcode = true
  const values = parseByteStrings(program, name, statement.operands)
  if (values === undefined) return undefined
  const encoded = values.flatMap((value) => [...Varint.encode(BigInt(value.length)), ...value])
  return { kind: 'plain', bytes: [opcode, ...Varint.encode(BigInt(values.length)), ...encoded] }
}

/** Parses a list of byte literals. */
export function parseByteStrings(
  program: Program,
  name: string,
  operands: readonly Token.Token[],
): Uint8Array[] | undefined {
  const values: Uint8Array[] = []
  let rest = operands
  while (rest.length > 0) {
    const parsed = parseBytes(rest)
    if ('problem' in parsed) {
      program.fail(rest[0]!, `${name} ${parsed.problem}`)
      return undefined
    }
    if (parsed.value.length > maxBytesLength) {
      const size = `(${parsed.value.length} bytes, limit ${maxBytesLength})`
      program.fail(rest[0]!, `${name} arg ${values.length} is too big ${size}`)
      return undefined
    }
    values.push(parsed.value)
    rest = rest.slice(parsed.taken)
  }
  return values
}

const setters: ReadonlySet<string> = new Set(['itxn_field', 'app_params_set'])

function encodeSmall(
  program: Program,
  instruction: Instruction,
  statement: Statement,
  naming: Naming,
): Content | undefined {
  const { immediates, opcode, suffix } = instruction
  if (!expectCount(program, statement, naming.name, immediates.length)) return undefined
  // Nodes write the other opcodes before they read the immediates.
  if (!setters.has(instruction.name)) program.hasOpcode = true
  const bytes = suffix === undefined ? [opcode] : [opcode, suffix]
  for (const [index, immediate] of immediates.entries()) {
    const operand = statement.operands[index]!
    const value = parseSmall(program.version!, instruction, immediate, operand.text, naming)
    if (typeof value === 'number') {
      bytes.push(value & 0xff)
    } else {
      program.fail(operand, value)
      return undefined
    }
  }
  return { kind: 'plain', bytes }
}

function parseSmall(
  version: number,
  instruction: Instruction,
  immediate: Immediate,
  text: string,
  naming: Naming,
): number | string {
  if (immediate.group !== undefined) return parseField(version, instruction, immediate, text, naming)
  if (immediate.kind === 'int8') {
    const value = Number(text)
    const isValid = /^[+-]?\d+$/.test(text) && value >= -128 && value <= 127
    return isValid ? value : `${naming.name} unable to parse ${immediate.name} ${quote(text)} as int8`
  }
  const value = parseInteger(text)
  if (typeof value !== 'bigint') {
    const positions = positionsOf(
      instruction,
      ({ group }) => group !== undefined && Fields.named(group, text) !== undefined,
    )
    if (positions !== '') return `${naming.qualified} can only use ${quote(text)} as immediate ${positions}`
    return `${naming.name} unable to parse ${immediate.name} ${quote(text)} as integer`
  }
  return value > 255n ? `${naming.name} ${immediate.name} beyond 255: ${value}` : Number(value)
}

/** The positions of the immediates that have a property, as messages list them. */
function positionsOf({ immediates }: Instruction, has: (immediate: Immediate) => boolean): string {
  return immediates.flatMap((immediate, index) => (has(immediate) ? [index + 1] : [])).join(' or ')
}

function parseField(
  version: number,
  instruction: Instruction,
  immediate: Immediate,
  text: string,
  { name, qualified, others }: Naming,
): number | string {
  const field = Fields.named(immediate.group!, text)
  if (field === undefined) {
    const value = parseInteger(text)
    const positions = positionsOf(instruction, ({ group, kind }) => group === undefined && kind === 'uint8')
    if (typeof value === 'bigint' && value <= 255n && positions !== '') {
      return `${qualified} can only use ${quote(text)} as immediate ${positions}`
    }
    for (const [count, other] of others) {
      if (other.immediates.some(({ group }) => group !== undefined && Fields.named(group, text) !== undefined)) {
        const immediates = `${count} immediate${count === 1 ? '' : 's'}`
        return `${quote(text)} field of ${name} can only be used with ${immediates}`
      }
    }
    return `${name} unknown field: ${quote(text)}`
  }
  const isSetting = immediate.group === 'txnSettable' || immediate.group === 'appParamsSettable'
  if (isSetting && field.setVersion === undefined) {
    return `${name} ${quote(text)} is not ${immediate.group === 'txnSettable' ? 'allowed' : 'settable'}.`
  }
  const introduced = isSetting ? field.setVersion! : field.version
  // The fields of version 1 are those of programs of version 0.
  if (introduced > Math.max(version, 1)) {
    if (immediate.group === 'appParamsSettable') {
      return `${name} ${text} field is settable in v${introduced}. Missed #pragma version?`
    }
    return `${name} ${text} field was introduced in v${introduced}. Missed #pragma version?`
  }
  return field.byte
}
