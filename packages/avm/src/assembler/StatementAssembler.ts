/** Assembles statements: labels, instructions and the names that stand for instructions. */
import { Bytes, Hash } from '@latchkey/algorand'
import { quote } from '../encoding/quote.js'
import * as Instruction from '../opcodes/Instruction.js'
import * as StackType from '../opcodes/StackType.js'
import * as Constants from './Constants.js'
import { parseAddress, parseBytes, parseInteger, parseString } from './Literal.js'
import type { Macros } from './Macros.js'
import { signatureProblem } from './methodSignature.js'
import { encode, expectCount, type Naming, parseByteStrings, parseOnlyBytes, type Statement } from './operands.js'
import type { Content, Program } from './Program.js'
import { dispatches, families, namedIntegers } from './pseudo.js'
import type { Token } from './Token.js'
import type { TypeTracker } from './TypeTracker.js'

/** The constants of one kind: those of the program's own blocks, and the automatic ones. */
type ConstantState = {
  /** The keys of the constants of the last block in the source. */
  own: string[]
  ownBlocks: number
  readonly automatic: Set<string>
  isUsed: boolean
}

/** Assembles the statements of one program. */
export class StatementAssembler {
  /** Whether an instruction is for applications only. */
  isStateful = false
  readonly #program: Program
  readonly #types: TypeTracker
  readonly #macros: Macros
  readonly #integers: ConstantState = { own: [], ownBlocks: 0, automatic: new Set(), isUsed: false }
  readonly #byteStrings: ConstantState = { own: [], ownBlocks: 0, automatic: new Set(), isUsed: false }

  constructor(program: Program, types: TypeTracker, macros: Macros) {
    this.#program = program
    this.#types = types
    this.#macros = macros
  }

  /** Assembles one statement, after its macros were replaced. */
  assemble(tokens: readonly Token[]): void {
    const label = tokens[0]?.text.endsWith(':') === true ? tokens[0] : undefined
    if (label !== undefined) this.#label(label)
    const [name, ...operands] = label === undefined ? tokens : tokens.slice(1)
    if (name === undefined) return
    const statement = { name, operands }
    const content = this.#assemble(statement)
    if (content !== undefined) this.#program.items.push({ line: name.line, column: name.column, ...content })
  }

  #label(token: Token): void {
    const name = token.text.slice(0, -1)
    if (this.#macros.has(name)) {
      this.#program.fail(token, `Cannot create label with same name as macro: ${name}`)
    } else {
      if (this.#program.labels.has(name)) this.#program.fail(token, `duplicate label ${quote(name)}`)
      this.#program.labels.set(name, this.#program.items.length)
    }
    this.#types.label()
  }

  #assemble(statement: Statement): Content | undefined {
    const { name, operands } = statement
    switch (name.text) {
      case 'int':
        return this.#integer(statement)
      case 'byte':
        return this.#bytes(statement)
      case 'addr':
        return this.#address(statement)
      case 'method':
        return this.#method(statement)
      default: {
        const family = families.get(name.text)
        if (family !== undefined) return this.#oneOf(statement, family)
        const other = dispatches.get(name.text)
        if (other !== undefined) return this.#dispatch(statement, other)
        const instruction = this.#find(name.text)
        if (typeof instruction === 'string') {
          this.#program.fail(name, instruction)
          return undefined
        }
        return this.#instruction(instruction, { name, operands })
      }
    }
  }

  #find(name: string): Instruction.Instruction | string {
    const instruction = Instruction.named(this.#program.version!, name)
    if (instruction !== undefined) return instruction
    const later = Instruction.firstNamed(name)
    return later === undefined ? `unknown opcode: ${name}` : `${name} opcode was introduced in v${later.introduced}`
  }

  #instruction(instruction: Instruction.Instruction, statement: Statement, naming?: Naming): Content | undefined {
    const { name, operands } = statement
    if (!instruction.isForSignatures) this.isStateful = true
    const isBare = families.has(name.text) && operands.length === 0
    this.#track(instruction, statement, isBare ? `${name.text} without immediates` : name.text)
    switch (instruction.name) {
      case 'intcblock':
        return this.#integerBlock(instruction, statement)
      case 'bytecblock':
        return this.#bytesBlock(instruction, statement)
      case 'intc':
        return this.#indexed(statement, this.#integers, Constants.integerAt)
      case 'bytec':
        return this.#indexed(statement, this.#byteStrings, Constants.bytesAt)
      case 'arg':
        return this.#argument(instruction, statement)
      case 'substring':
        return this.#substring(instruction, statement)
      default:
        return encode(this.#program, instruction, statement, naming)
    }
  }

  /** Applies an instruction to the types on the stack. Problems become errors of the program. */
  #track(instruction: Instruction.Instruction, { name, operands }: Statement, shown: string): void {
    const texts = operands.map(({ text }) => text)
    for (const problem of this.#types.apply(instruction, texts, shown)) this.#program.fail(name, problem)
  }

  #oneOf(statement: Statement, family: ReadonlyMap<number, string>): Content | undefined {
    const { name, operands } = statement
    const count = operands.length
    const immediates = `${count === 0 ? 'no' : count} immediate${count === 1 ? '' : 's'}`
    const instructionName = family.get(count)
    const counts = [...family.keys()]
    if (instructionName === undefined) {
      this.#program.fail(name, `${name.text} expects ${counts.join(' or ')} immediate arguments`)
      const [first, second] = [...family.values()].map((one) => Instruction.firstNamed(one)!)
      // Nothing is known of the stack if the instructions take different numbers of values.
      if (first!.args.length !== second!.args.length) return undefined
      const { introduced } = first!
      if (introduced > Math.max(this.#program.version!, 1)) {
        this.#program.fail(name, `${name.text} opcode with ${immediates} was introduced in v${introduced}`)
      }
      this.#track(first!, statement, count === 0 ? `${name.text} without immediates` : name.text)
      return undefined
    }
    const first = Instruction.firstNamed(instructionName)!
    const current = Instruction.named(this.#program.version!, instructionName)
    if (current === undefined) {
      this.#program.fail(name, `${name.text} opcode with ${immediates} was introduced in v${first.introduced}`)
    }
    const others = new Map(
      [...family]
        .filter(([other]) => other !== count)
        .map(([other, otherName]) => [other, Instruction.firstNamed(otherName)!]),
    )
    const naming = { name: name.text, qualified: `${name.text} with ${immediates}`, others }
    return this.#instruction(current ?? first, statement, naming)
  }

  #dispatch(statement: Statement, dispatch: ReadonlyMap<number, string>): Content | undefined {
    const { name, operands } = statement
    const target = dispatch.get(operands.length)
    const own = this.#find(target ?? name.text)
    if (typeof own === 'string') {
      this.#program.fail(name, own.replace(/^\S+/, name.text))
      return undefined
    }
    if (target === undefined) {
      this.#track(own, statement, name.text)
      this.#program.fail(name, `${name.text} expects ${[...dispatch.keys()].join(' or ')} immediate arguments`)
      return undefined
    }
    return this.#instruction(own, statement)
  }

  #push(type: StackType.StackType): void {
    if (this.#types.isLive) this.#types.stack.push(type)
  }

  #integer(statement: Statement): Content | undefined {
    const { name, operands } = statement
    if (!expectCount(this.#program, statement, 'int', 1)) {
      for (const { text } of operands) this.#push(integerType(text))
      return undefined
    }
    const operand = operands[0]!
    const state = this.#integers
    const version = this.#program.version!
    const push = Instruction.named(version, 'pushint')
    if (state.ownBlocks > 0 && version >= Constants.optimizedVersion) {
      this.#program.warn(operand, `int ${operand.text} used with explicit intcblock. must pushint`)
      return this.#instruction(push!, statement)
    }
    if (state.ownBlocks > 1 && push !== undefined) return this.#instruction(push, statement)
    const parsed = namedIntegers.get(operand.text) ?? parseInteger(operand.text)
    this.#push(integerType(operand.text))
    if (state.ownBlocks > 1) {
      this.#program.fail(name, `int ${operand.text} used with manual intcblocks. Use intc.`)
      return undefined
    }
    if (typeof parsed !== 'bigint') {
      this.#program.fail(operand, `unable to parse ${quote(operand.text)} as integer`)
      return undefined
    }
    state.isUsed = true
    if (state.ownBlocks === 1) {
      const index = state.own.indexOf(String(parsed))
      if (index >= 0) return { kind: 'plain', bytes: Constants.integerAt(index) }
      this.#program.fail(operand, `value ${parsed} does not appear in existing intcblock`)
      return undefined
    }
    if (!this.#addConstant(state, String(parsed), operand, 'int')) return undefined
    return { kind: 'integer', value: parsed }
  }

  #bytes(statement: Statement): Content | undefined {
    const first = statement.operands.length === 0 ? undefined : parseBytes(statement.operands)
    const length = first === undefined || 'problem' in first ? 0n : BigInt(first.value.length)
    this.#push(first === undefined ? StackType.bytes : StackType.byteString(length, length))
    const [operand] = statement.operands
    const { ownBlocks } = this.#byteStrings
    const isPushed = this.#isBytesPushed(ownBlocks)
    if (operand !== undefined && ownBlocks > 0) {
      if (this.#program.version! >= Constants.optimizedVersion) {
        this.#program.warn(operand, `byte ${operand.text} used with explicit bytecblock. must pushbytes`)
      } else if (ownBlocks > 1 && !isPushed) {
        this.#program.fail(operand, `byte ${operand.text} used with manual bytecblocks. Use bytec.`)
        return undefined
      }
    }
    const value = parseOnlyBytes(this.#program, statement)
    if (value === undefined) return undefined
    if (value.length > StackType.maxBytesLength) {
      const size = `(${value.length} bytes, limit ${StackType.maxBytesLength})`
      this.#program.fail(operand!, `byte value is too big ${size}`)
      return undefined
    }
    return isPushed ? { kind: 'plain', bytes: Constants.pushBytes(value) } : this.#bytesConstant(statement, value)
  }

  /** Whether `byte` cannot know which block is the current one, or need not, and pushes its value. */
  #isBytesPushed(ownBlocks: number): boolean {
    const version = this.#program.version!
    if (ownBlocks > 0 && version >= Constants.optimizedVersion) return true
    return ownBlocks > 1 && Instruction.named(version, 'pushbytes') !== undefined
  }

  #address(statement: Statement): Content | undefined {
    this.#push(StackType.bytes)
    if (!expectCount(this.#program, statement, 'addr', 1)) return undefined
    const operand = statement.operands[0]!
    const address = parseAddress(operand.text)
    if (typeof address !== 'string') return this.#bytesConstant(statement, address)
    this.#program.fail(operand, address)
    return undefined
  }

  #method(statement: Statement): Content | undefined {
    this.#push(StackType.bytes)
    if (!expectCount(this.#program, statement, 'method', 1)) return undefined
    const operand = statement.operands[0]!
    const signature = parseString(operand.text)
    if (signature === undefined || typeof signature === 'string') {
      this.#program.fail(operand, 'unable to parse method signature')
      return undefined
    }
    const problem = signatureProblem(Bytes.toUtf8(signature) ?? '')
    if (problem !== undefined) {
      this.#program.warn(operand, `invalid ARC-4 ABI method signature for method op: ${problem}`)
    }
    return this.#bytesConstant(statement, Hash.sha512_256(signature).subarray(0, 4))
  }

  #bytesConstant({ operands }: Statement, value: Uint8Array): Content | undefined {
    const state = this.#byteStrings
    const key = Bytes.toHex(value)
    state.isUsed = true
    if (state.ownBlocks > 0) {
      const index = state.own.indexOf(key)
      if (index >= 0) return { kind: 'plain', bytes: Constants.bytesAt(index) }
      this.#program.fail(operands[0]!, `value 0x${key} does not appear in existing bytecblock`)
      return undefined
    }
    if (!this.#addConstant(state, key, operands[0]!, 'byte')) return undefined
    return { kind: 'bytes', value }
  }

  #addConstant(state: ConstantState, key: string, operand: Token, kind: 'int' | 'byte'): boolean {
    if (!state.automatic.has(key) && state.automatic.size >= Constants.maxConstants) {
      this.#program.fail(operand, `cannot have more than ${Constants.maxConstants} ${kind} constants`)
      return false
    }
    state.automatic.add(key)
    return true
  }

  #integerBlock(instruction: Instruction.Instruction, statement: Statement): Content | undefined {
    const state = this.#integers
    const content = encode(this.#program, instruction, statement)
    if (!this.#types.isLive) return content
    if (state.isUsed) {
      this.#program.fail(statement.name, 'intcblock following int')
      return content
    }
    state.ownBlocks++
    state.own = statement.operands.map(({ text }) => String(parseInteger(text)))
    return content
  }

  #bytesBlock(instruction: Instruction.Instruction, statement: Statement): Content | undefined {
    const state = this.#byteStrings
    const content = encode(this.#program, instruction, statement)
    if (content === undefined || !this.#types.isLive) return content
    if (state.isUsed) {
      this.#program.fail(statement.name, 'bytecblock following byte/addr/method')
      return content
    }
    state.ownBlocks++
    state.own = parseByteStrings(this.#program, 'bytecblock', statement.operands)!.map(Bytes.toHex)
    return content
  }

  #indexed(statement: Statement, state: ConstantState, at: (index: number) => number[]): Content | undefined {
    const { name, operands } = statement
    if (!expectCount(this.#program, statement, name.text, 1)) return undefined
    const operand = operands[0]!
    const index = parseInteger(operand.text)
    if (typeof index !== 'bigint') {
      this.#program.fail(operand, `unable to parse constant ${quote(operand.text)} as integer`)
    } else if (index > 255n) {
      this.#program.fail(operand, `constant beyond 255: ${index}`)
    } else {
      const known = state.ownBlocks > 0 ? state.own.length : state.automatic.size
      if (index >= known) this.#program.fail(operand, `${name.text} ${index} is not defined`)
      return { kind: 'plain', bytes: at(Number(index)) }
    }
    return undefined
  }

  #argument(instruction: Instruction.Instruction, statement: Statement): Content | undefined {
    if (!expectCount(this.#program, statement, 'arg', 1)) return undefined
    const operand = statement.operands[0]!
    const index = parseInteger(operand.text)
    if (typeof index !== 'bigint') {
      this.#program.fail(operand, `unable to parse argument ${quote(operand.text)} as integer`)
      return undefined
    }
    if (index > 255n) {
      this.#program.fail(operand, `argument beyond 255: ${index}`)
      return undefined
    }
    // arg_0 to arg_3 follow arg.
    const { opcode } = instruction
    return { kind: 'plain', bytes: index < 4n ? [opcode + 1 + Number(index)] : [opcode, Number(index)] }
  }

  #substring(instruction: Instruction.Instruction, statement: Statement): Content | undefined {
    const content = encode(this.#program, instruction, statement)
    if (content?.kind === 'plain' && content.bytes[2]! < content.bytes[1]!) {
      this.#program.fail(statement.operands[0]!, 'substring end is before start')
    }
    return content
  }
}

/** The type of an integer literal. Only decimal literals have a type of their own. */
function integerType(text: string): StackType.StackType {
  const value = /^\d+$/.test(text) ? BigInt(text) : undefined
  return value === undefined || value > StackType.maxUint64 ? StackType.uint64 : StackType.integer(value, value)
}
