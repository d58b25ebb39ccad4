/** Instructions of the virtual machine by version, from {@link instructionTable}. */
import * as Fields from './Fields.js'
import { instructionTable } from './instructionTable.js'
import * as StackType from './StackType.js'

/** How an immediate is encoded. */
export type ImmediateKind =
  | 'uint8'
  | 'int8'
  | 'varuint'
  | 'bytes'
  | 'varuints'
  | 'byteses'
  | 'int16be'
  | 'varint'
  | 'int16s'

/** An immediate: an operand in the program itself. */
export type Immediate = {
  readonly name: string
  readonly kind: ImmediateKind
  /** The group of the fields that it names, if it names a field. */
  readonly group: Fields.GroupName | undefined
}

/** The cost of an instruction: a constant, and an amount for each started chunk of an argument. */
export type Cost = {
  readonly base: number
  readonly perChunk: number
  readonly chunkBytes: number
  /** The argument whose length counts, from the deepest. */
  readonly argument: number
}

/** One form of an instruction, which holds from a version on. */
export type Instruction = {
  readonly name: string
  readonly opcode: number
  /** The second byte of a two-byte opcode. */
  readonly suffix: number | undefined
  /** The first version of this form. */
  readonly version: number
  /** The first version with this instruction. */
  readonly introduced: number
  readonly immediates: readonly Immediate[]
  readonly args: readonly StackType.StackType[]
  readonly returns: readonly StackType.StackType[]
  /** The cost, or the cost for each field of the first immediate with a group. */
  readonly cost: Cost | ReadonlyMap<string, Cost>
  readonly isForSignatures: boolean
  readonly isForApps: boolean
}

/** The newest version that can be evaluated. */
export const maxVersion = 13

/** The newest version that can be assembled. */
export const maxAssemblerVersion = 14

const forms: readonly Instruction[] = parseTable()
const byName: ReadonlyMap<string, Instruction>[] = []
const byCode: ReadonlyMap<number, Instruction>[] = []
for (let version = 0; version <= maxAssemblerVersion; version++) {
  const current = forms.filter((form) => form.version <= Math.max(version, 1))
  byName.push(new Map(current.map((form) => [form.name, form])))
  byCode.push(new Map(current.map((form) => [codeOf(form.opcode, form.suffix), form])))
}
const firstForms = new Map([...forms].reverse().map((form) => [form.name, form]))
const prefixes = new Set(forms.filter(({ suffix }) => suffix !== undefined).map(({ opcode }) => opcode))

/** Returns the form of an instruction in a version, or undefined if the version does not have it. */
export function named(version: number, name: string): Instruction | undefined {
  return byName[Math.min(version, maxAssemblerVersion)]!.get(name)
}

/** Returns the first form of an instruction in any version. */
export function firstNamed(name: string): Instruction | undefined {
  return firstForms.get(name)
}

/** Whether an opcode is the first byte of two. */
export function isPrefix(version: number, opcode: number): boolean {
  return version >= 13 && prefixes.has(opcode)
}

/** Returns the instruction with an opcode in a version. */
export function withCode(version: number, opcode: number, suffix?: number): Instruction | undefined {
  return byCode[Math.min(version, maxAssemblerVersion)]!.get(codeOf(opcode, suffix))
}

/** Every name of an instruction in a version. */
export function names(version: number): Iterable<string> {
  return byName[Math.min(version, maxAssemblerVersion)]!.keys()
}

function codeOf(opcode: number, suffix: number | undefined): number {
  return suffix === undefined ? opcode : (opcode << 8) | suffix | 0x10000
}

function parseTable(): Instruction[] {
  const introduced = new Map<string, number>()
  return instructionTable
    .trim()
    .split('\n')
    .map((row) => {
      const [code, name, version, immediates, args, returns, cost, modes] = row.split(';').map((cell) => cell.trim())
      if (!introduced.has(name!)) introduced.set(name!, Number(version))
      return {
        name: name!,
        opcode: Number.parseInt(code!.slice(0, 2), 16),
        suffix: code!.length > 2 ? Number.parseInt(code!.slice(2), 16) : undefined,
        version: Number(version),
        introduced: introduced.get(name!)!,
        immediates: wordsOf(immediates!).map(parseImmediate),
        args: wordsOf(args!).map(StackType.parse),
        returns: wordsOf(returns!).map(StackType.parse),
        cost: parseCosts(cost!),
        isForSignatures: modes!.includes('sig'),
        isForApps: modes!.includes('app'),
      }
    })
}

function wordsOf(cell: string): string[] {
  return cell === '' ? [] : cell.split(' ')
}

function parseImmediate(text: string): Immediate {
  const [name, kind] = text.split(':')
  if (Fields.isGroup(kind!)) return { name: name!, kind: 'uint8', group: kind }
  return { name: name!, kind: kind as ImmediateKind, group: undefined }
}

function parseCosts(text: string): Cost | ReadonlyMap<string, Cost> {
  if (!text.includes('=')) return parseCost(text)
  return new Map(
    text.split(',').map((part) => {
      const [field, cost] = part.split('=')
      return [field!, parseCost(cost!)]
    }),
  )
}

function parseCost(text: string): Cost {
  const [base, perChunk = '0', chunkBytes = '1', argument = '0'] = text.split(/[+/@]/)
  return {
    base: Number(base),
    perChunk: Number(perChunk),
    chunkBytes: Number(chunkBytes),
    argument: Number(argument),
  }
}
