/** Disassembles programs to the assembly language TEAL. */
import { Address, Bytes } from '@latchkey/algorand'
import * as Layout from '../assembler/Layout.js'
import { quote } from '../encoding/quote.js'
import * as Varint from '../encoding/Varint.js'
import * as Fields from '../opcodes/Fields.js'
import * as Instruction from '../opcodes/Instruction.js'
import * as Immediates from '../program/Immediates.js'

/** A disassembled program. */
export type Disassembly = {
  /** The source. After an error, the source of the instructions before it, where that is known. */
  readonly text: string
  /** Why the rest could not be disassembled, or undefined if all of it was. */
  readonly error: string | undefined
  /** The line of each instruction in the source, from 0, by its offset in the program. */
  readonly lines: ReadonlyMap<number, number>
}

const noLines: ReadonlyMap<number, number> = new Map()

/**
 * Disassembles a program.
 *
 * @example
 * disassemble(Uint8Array.of(10, 0x81, 1)).text // '#pragma version 10\npushint 1\n'
 */
export function disassemble(program: Uint8Array): Disassembly {
  const version = Varint.decode(program, 0)
  if (version === undefined || version.value > BigInt(Instruction.maxAssemblerVersion)) {
    const comment = version === undefined ? 'invalid version' : `unsupported version ${version.value}`
    return { text: `// ${comment}\n`, error: undefined, lines: noLines }
  }
  const { lines, error } = new Disassembler(program, Number(version.value), version.length).run()
  const texts: string[] = []
  const places = new Map<number, number>()
  let length = 0
  for (const [index, line] of lines.entries()) {
    const text = `${line.text()}\n`
    length += text.length
    if (length > maxTextLength) {
      return { text: '', error: `source is longer than ${maxTextLength} characters`, lines: noLines }
    }
    texts.push(text)
    if (line.pc !== undefined) places.set(line.pc, index)
  }
  return { text: texts.join(''), error, lines: places }
}

/** Each use of a constant shows it, so a program of 16 kB can have a source of 100 MB. */
const maxTextLength = 16_777_216

/** Up to three instructions that end with the one at an offset, with the labels between and after them. */
export function instructionsBefore(program: Uint8Array, pc: number): string {
  const version = Varint.decode(program, 0)
  if (version === undefined || version.value > BigInt(Instruction.maxAssemblerVersion)) return ''
  const { lines } = new Disassembler(program, Number(version.value), version.length).run()
  const last = lines.findIndex((line) => line.pc === pc)
  if (last < 0) return ''
  let first = last
  for (let index = last, count = 0; index >= 0 && count < shownInstructions; index--) {
    if (lines[index]!.pc === undefined) continue
    first = index
    count++
  }
  let end = last + 1
  while (end < lines.length && lines[end]!.pc === undefined) end++
  return lines
    .slice(first, end)
    .map(({ text }) => text())
    .join('; ')
}

const shownInstructions = 3

/** A line of a disassembly: an instruction with its offset, or anything else. */
type Line = {
  readonly pc: number | undefined
  /** Written when it is needed: comments repeat constants, so all lines can be thousands of times longer than the program. */
  readonly text: () => string
}

/** Text of one instruction, such as `intc_0 // 5`, or the problem with it. */
export class Disassembler {
  readonly #program: Uint8Array
  readonly #version: number
  readonly #start: number
  readonly #labels = new Map<number, string>()
  readonly #comments = new Map<Uint8Array, string>()
  #integers: readonly bigint[] = []
  #byteStrings: readonly Uint8Array[] = []
  #isStateful = false

  constructor(program: Uint8Array, version: number, start: number) {
    this.#program = program
    this.#version = version
    this.#start = start
  }

  run(): { readonly lines: readonly Line[]; readonly error: string | undefined } {
    const lines: { pc: number; text: () => string; label: string | undefined }[] = []
    let error: string | undefined
    let isKept = true
    let pc = this.#start
    while (pc < this.#program.length) {
      const label = this.#labels.get(pc)
      const next = this.#instruction(pc)
      if ('problem' in next) {
        error = next.problem
        isKept = next.isKept
        break
      }
      lines.push({ pc, text: next.text, label })
      pc = next.end
    }
    if (error !== undefined && !isKept) return { lines: [], error }
    const output: Line[] = [{ pc: undefined, text: () => `#pragma version ${this.#version}` }]
    const add = (text: string): void => {
      output.push({ pc: undefined, text: () => text })
    }
    if (this.#wouldBeSalted()) add('#pragma autosalt false')
    for (const line of lines) {
      // After an error, only labels of forward branches are known.
      const label = error === undefined ? this.#labels.get(line.pc) : line.label
      if (label !== undefined) add(`${label}:`)
      output.push(line)
    }
    const last = this.#labels.get(pc)
    if (last !== undefined) add(`${last}:`)
    if (error !== undefined) add(`invalid opcode ${hexOf(this.#program[pc]!)} at pc=${pc}`)
    return { lines: output, error }
  }

  #wouldBeSalted(): boolean {
    return this.#version >= Layout.variableBranchVersion && !this.#isStateful && Layout.isOnCurve(this.#program)
  }

  #instruction(pc: number): { text: () => string; end: number } | { problem: string; isKept: boolean } {
    const found = Immediates.instructionAt(this.#program, pc, this.#version)
    if (typeof found === 'string') return { problem: found, isKept: true }
    const { instruction } = found
    if (!instruction.isForSignatures) this.#isStateful = true
    const decoded = Immediates.decode(this.#program, pc, instruction)
    if (typeof decoded === 'string') return { problem: decoded, isKept: false }
    const operands = decoded.values.map((value, index) => this.#operand(value, instruction.immediates[index]!))
    this.#remember(instruction.name, decoded.values)
    const comment = this.#comment(instruction.name, decoded.values)
    if (instruction.name === 'proto') this.#label(pc)
    const text = (): string => {
      const words = [
        instruction.name,
        ...operands.map((operand) => (typeof operand === 'string' ? operand : operand())),
      ]
      const statement = words.join(' ')
      return comment === undefined ? statement : `${statement} // ${comment()}`
    }
    return { text, end: decoded.end }
  }

  /** Labels are numbered in the order of their first use, so they are made at once. */
  #operand(value: Immediates.Value, { group, kind }: Instruction.Immediate): string | (() => string) {
    if (group !== undefined) return Fields.withByte(group, value as number)!.name
    switch (kind) {
      case 'bytes':
        return () => `0x${Bytes.toHex(value as Uint8Array)}`
      case 'byteses':
        return () => (value as Uint8Array[]).map((bytes) => `0x${Bytes.toHex(bytes)}`).join(' ')
      case 'varuints':
        return () => (value as bigint[]).join(' ')
      case 'int16be':
      case 'varint':
        return this.#label(value as number)
      case 'int16s':
        return (value as number[]).map((target) => this.#label(target)).join(' ')
      default:
        return String(value)
    }
  }

  #label(target: number): string {
    const known = this.#labels.get(target)
    if (known !== undefined) return known
    const label = `label${this.#labels.size + 1}`
    this.#labels.set(target, label)
    return label
  }

  #remember(name: string, values: readonly Immediates.Value[]): void {
    if (name === 'intcblock') this.#integers = values[0] as bigint[]
    if (name === 'bytecblock') this.#byteStrings = values[0] as Uint8Array[]
  }

  #comment(name: string, values: readonly Immediates.Value[]): (() => string) | undefined {
    const [, kind, short] = /^(intc|bytec)(?:_([0-3]))?$/.exec(name) ?? []
    const index = short === undefined ? (values[0] as number) : Number(short)
    const integer = kind === 'intc' ? this.#integers[index] : undefined
    if (integer !== undefined) return () => integer.toString()
    const bytes = kind === 'bytec' ? this.#byteStrings[index] : name === 'pushbytes' ? values[0] : undefined
    return bytes instanceof Uint8Array ? () => this.#commentOn(bytes) : undefined
  }

  /** Written once for each constant. */
  #commentOn(bytes: Uint8Array): string {
    let comment = this.#comments.get(bytes)
    if (comment === undefined) {
      comment = commentOn(bytes)
      this.#comments.set(bytes, comment)
    }
    return comment
  }
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

/** Shows a byte string as an address, as text or as hexadecimal. */
function commentOn(bytes: Uint8Array): string {
  if (bytes.length === 32) return `addr ${Address.encode(bytes)}`
  const text = Bytes.toUtf8(bytes)
  if (text !== undefined && /^[\x20-\x7e]*$/.test(text)) return quote(text)
  return `0x${Bytes.toHex(bytes)}`
}
