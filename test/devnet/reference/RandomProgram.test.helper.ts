/**
 * Random programs as source text, from the table of instructions: arguments mostly have the types that an instruction
 * takes, and values that exist on the ledger, so that programs come far before they fail.
 */
import { Draft, type Line, permanent } from './Draft.test.helper.js'
import { type Constant, fittingArguments, hexOf } from './fittingArguments.test.helper.js'
import type { Random } from './Random.test.helper.js'
import { randomInnerFields } from './randomInnerFields.test.helper.js'

type StackType = { readonly kind: string; readonly name: string; readonly min: bigint; readonly max: bigint }
type Field = {
  readonly name: string
  readonly version: number
  readonly type: StackType | undefined
  readonly isAppOnly: boolean
  readonly isEffect: boolean
  readonly isArray: boolean
  readonly setVersion: number | undefined
}
type Instruction = {
  readonly name: string
  readonly immediates: readonly { readonly name: string; readonly kind: string; readonly group?: string }[]
  readonly args: readonly StackType[]
  readonly returns: readonly StackType[]
  readonly isForSignatures: boolean
  readonly isForApps: boolean
}
type Immediates = { readonly texts: string[]; readonly field: Field | undefined }
type Tables = {
  readonly names: (version: number) => Iterable<string>
  readonly named: (version: number, name: string) => Instruction | undefined
}
type FieldTables = {
  readonly fieldTable: { readonly [group: string]: string }
  readonly named: (group: string, name: string) => Field | undefined
}

const opcodes = '../../../../packages/avm/dist/opcodes'
const Instructions = (await import(`${opcodes}/Instruction.js` as string)) as Tables
const Fields = {
  ...((await import(`${opcodes}/Fields.js` as string)) as object),
  ...((await import(`${opcodes}/fieldTable.js` as string)) as object),
} as FieldTables

/** The ids, addresses and names that a program may use. */
export type Names = {
  readonly apps: readonly bigint[]
  readonly assets: readonly bigint[]
  /** Public keys. */
  readonly accounts: readonly Uint8Array[]
  readonly boxes: readonly string[]
  readonly groupSize: number
  /** The number of arguments of the logic signature or of the call. @default 2 */
  readonly argumentCount?: number
  /** Whether the blocks that programs can read are the same on both nodes. @default false */
  readonly hasEqualBlocks?: boolean
}

export type ProgramOptions = {
  readonly random: Random
  readonly mode: 'signature' | 'application'
  readonly version: number
  readonly names: Names
  /** The number of instructions, without the constants that they need. */
  readonly length: number
  /** Whether every instruction gets arguments with which it should succeed. @default false */
  readonly isCareful?: boolean
}

/** The most expensive instructions are rare, because both nodes take seconds for hundreds of them. */
const rare = new Set([
  'ec_pairing_check',
  'ec_multi_scalar_mul',
  'ec_map_to',
  'falcon_verify',
  'vrf_verify',
  'ec_scalar_mul',
])
/** These end a program or need code around them. */
const structural = new Set(['err', 'return', 'retsub', 'proto', 'intcblock', 'bytecblock', 'b', 'bnz', 'bz', 'callsub'])
/** These fail without constants of a block. */
const blockConstants = /^(intc|bytec)(_\d)?$/

/** Instructions whose integers are offsets and lengths. */
const offsets = /extract|substring|byte|bit|splice|replace|resize|bzero|create/

/** Instructions that fail outside of a subroutine. */
const framed = new Set(['frame_dig', 'frame_bury'])

const text = hexOf

/** Writes one program. */
export class RandomProgram {
  readonly #random: Random
  readonly #version: number
  readonly #isSignature: boolean
  readonly #names: Names
  readonly #isCareful: boolean
  readonly #lines: Line[] = []
  #step = permanent
  #steps = 0
  /** The known types on the stack, the top last. */
  #stack: string[] = []
  #labels = 0
  readonly #subroutines: Line[] = []

  private constructor({ random, mode, version, names, isCareful = false }: ProgramOptions) {
    this.#random = random
    this.#version = version
    this.#isSignature = mode === 'signature'
    this.#names = names
    this.#isCareful = isCareful
  }

  /** A random program. */
  static write(options: ProgramOptions): Draft {
    const program = new RandomProgram(options)
    program.#write(options.length)
    return new Draft([`#pragma version ${options.version}`, '#pragma typetrack false'], program.#lines)
  }

  /** A part that leaves values on the stack, for a program whose other parts the caller writes. */
  static part(options: ProgramOptions): string {
    const program = new RandomProgram(options)
    for (let count = 0; count < options.length; count++) program.#instruction()
    return program.#lines.map(({ text: line }) => line).join('\n')
  }

  #write(length: number): void {
    const random = this.#random
    if (random.chance(0.15)) this.#add(`intcblock ${[1, 2, 3, 4].map(() => random.uint64()).join(' ')}`)
    if (random.chance(0.15)) this.#add(`bytecblock 0x ${text(random.bytes(3))} ${text(random.bytes(32))}`)
    for (let count = 0; count < length; count++) this.#instruction()
    if (this.#isCareful) this.#finish()
    else if (random.chance(0.7)) {
      this.#push(this.#integer(random.chance(0.9) ? 1 : random.uint64()))
      if (this.#version >= 2) this.#add('return')
    }
    this.#lines.push(...this.#subroutines)
  }

  #add(...texts: readonly string[]): void {
    this.#lines.push(...texts.map((line) => ({ text: line, step: this.#step })))
  }

  #addSubroutine(...texts: readonly string[]): void {
    this.#subroutines.push(...texts.map((line) => ({ text: line, step: this.#step })))
  }

  /** Ends with success. The first version has no instruction for that. */
  #finish(): void {
    if (this.#version === 1) for (const _ of this.#stack) this.#add('pop')
    this.#add('int 1')
    if (this.#version >= 2) this.#add('return')
  }

  #push({ line, kind }: Constant): void {
    this.#add(line)
    this.#stack.push(kind)
  }

  #integer(value: bigint | number): Constant {
    const isPushed = this.#version >= 3 && this.#random.chance(0.5)
    return { line: `${isPushed ? 'pushint' : 'int'} ${value}`, kind: 'uint64' }
  }

  #bytes(value: Uint8Array): Constant {
    const isPushed = this.#version >= 3 && this.#random.chance(0.5)
    return { line: `${isPushed ? 'pushbytes' : 'byte'} ${text(value)}`, kind: 'bytes' }
  }

  #instruction(): void {
    const outer = this.#step
    this.#step = this.#steps++
    this.#writeStep()
    this.#step = outer
  }

  #writeStep(): void {
    const random = this.#random
    if (random.chance(0.1)) {
      this.#flow()
      return
    }
    const all = [...Instructions.names(this.#version)]
    for (let tries = 0; tries < 20; tries++) {
      const name = random.pick(all)
      const instruction = Instructions.named(this.#version, name)!
      if (structural.has(name) || (rare.has(name) && !random.chance(0.1))) continue
      if (blockConstants.test(name) && !random.chance(0.1)) continue
      const isAvailable = this.#isSignature ? instruction.isForSignatures : instruction.isForApps
      if (!isAvailable && (this.#isCareful || !random.chance(0.01))) continue
      if (this.#isCareful && !this.#canSucceed(name)) continue
      this.#emit(instruction)
      return
    }
  }

  /** Whether there are arguments with which an instruction succeeds. */
  #canSucceed(name: string): boolean {
    const { argumentCount = 2, hasEqualBlocks = false } = this.#names
    if (name === 'block') return hasEqualBlocks
    const index = /^arg_(\d)$/.exec(name)?.[1]
    if (index !== undefined && Number(index) >= argumentCount) return false
    return !framed.has(name) && !blockConstants.test(name)
  }

  #emit(instruction: Instruction): void {
    const { name, args, returns } = instruction
    const random = this.#random
    const immediates = this.#immediates(instruction)
    if (immediates === undefined) return
    if (name === 'itxn_field' || (/^itxn_/.test(name) && random.chance(0.7))) {
      this.#innerTransaction()
      return
    }
    this.#arguments(instruction, immediates)
    this.#add([name, ...immediates.texts].join(' '))
    if (this.#isCareful && this.#shuffle(name, immediates.texts)) return
    if (random.chance(0.02) && !this.#isCareful) this.#stack = []
    for (const _ of args) this.#stack.pop()
    const known = immediates.field?.type
    for (const [index, type] of returns.entries()) {
      this.#stack.push(index === 0 && known !== undefined ? known.kind : type.kind)
    }
    if (!this.#isCareful && /^(dup2?|swap|cover|uncover)$/.test(name)) this.#stack = []
  }

  /** Follows an instruction whose results are not those of its row in the table. Returns whether it is one. */
  #shuffle(name: string, texts: readonly string[]): boolean {
    const stack = this.#stack
    const depth = Number(texts[0] ?? 0)
    const at = stack.length - 1 - depth
    if (name === 'dup') stack.push(stack.at(-1)!)
    else if (name === 'dup2') stack.push(...stack.slice(-2))
    else if (name === 'swap') stack.push(...stack.splice(-2).reverse())
    else if (name === 'dig') stack.push(stack[at]!)
    else if (name === 'uncover') stack.push(...stack.splice(at, 1))
    else if (name === 'cover') stack.splice(at, 0, stack.pop()!)
    else if (name === 'bury') stack[at] = stack.pop()!
    else if (name === 'popn') stack.splice(stack.length - depth, depth)
    else if (name === 'dupn') stack.push(...Array.from({ length: depth }, () => stack.at(-1)!))
    else if (name === 'pushints') stack.push(...texts.map(() => 'uint64'))
    else if (name === 'pushbytess') stack.push(...texts.map(() => 'bytes'))
    else if (name === 'setbit') stack.splice(-2)
    else if (name === 'select') {
      const [one, other] = stack.splice(-3)
      stack.push(one === other ? one! : 'any')
    } else return false
    return true
  }

  /** Uses values of the stack if their types fit, and pushes new ones otherwise. */
  #arguments({ name, args }: Instruction, { texts, field }: Immediates): void {
    const random = this.#random
    const top = this.#stack.slice(this.#stack.length - args.length)
    const fits = top.length === args.length && args.every(({ kind }, index) => kind === 'any' || kind === top[index])
    const fitting = this.#isCareful ? fittingArguments[name] : undefined
    if (args.length > 0 && fits && random.chance(fitting === undefined ? 0.4 : 0.15)) return
    if (this.#isCareful && args.length > 0 && /^(dig|uncover|cover|bury)$/.test(name) && this.#stack.length > 0) return
    if (fitting !== undefined) {
      for (const constant of fitting(random, texts)) this.#push(constant)
      return
    }
    for (const [index, type] of args.entries()) {
      if (this.#isCareful) {
        this.#push(this.#argument(name, index, type, field))
        continue
      }
      if (random.chance(0.01)) this.#push(this.#bytes(random.bytes(random.below(10))))
      else if (random.chance(0.011)) this.#push(this.#integer(random.uint64()))
      else this.#push(this.#argument(name, index, type, field))
    }
  }

  #argument(name: string, index: number, type: StackType, field: Field | undefined): Constant {
    const random = this.#random
    if (this.#isAccount(name, index)) return this.#account()
    if (this.#isApplication(name, index)) return this.#id(this.#names.apps)
    if (/^asset_/.test(name) && type.kind === 'uint64') return this.#id(this.#names.assets)
    if (name === 'block') return this.#integer(random.chance(0.5) ? 0 : random.below(40))
    if (this.#isCareful && type.kind === 'uint64') {
      if (/^(gtxn|gload|gaid)/.test(name) && index === 0) return this.#integer(random.below(this.#names.groupSize))
      if (/as$/.test(name)) return this.#integer(random.below(2))
      if (name === 'args') return this.#integer(random.below(Math.max(1, this.#names.argumentCount ?? 2)))
    }
    if (type.kind === 'uint64') {
      if (type.max === 1n) return this.#integer(random.below(2))
      return this.#integer(offsets.test(name) && random.chance(0.85) ? random.below(12) : random.uint64())
    }
    if (type.kind === 'any') {
      const wanted = field?.type?.kind
      const isInteger = wanted === 'uint64' || (wanted === undefined && random.chance(0.5))
      return isInteger ? this.#integer(random.uint64()) : this.#bytes(random.bytes(random.below(40)))
    }
    return this.#bytes(this.#byteString(name, index, type))
  }

  #byteString(name: string, index: number, type: StackType): Uint8Array {
    const random = this.#random
    if (type.name === 'boxName') return Buffer.from(random.chance(0.9) ? random.pick(this.#names.boxes) : 'other')
    if (type.name === 'stateKey') return Buffer.from(random.pick(['a', 'b', 'key', 'a', 'b', '']))
    if (name === 'json_ref') {
      return Buffer.from(index === 0 ? '{"a": 1, "key": "text", "b": {"a": [2]}}' : random.pick(['a', 'key', 'b']))
    }
    if (name === 'base64_decode') return Buffer.from(Buffer.from(random.bytes(random.below(9))).toString('base64'))
    if (type.min === type.max) return random.bytes(Number(type.min))
    const length = random.chance(0.8) ? random.below(70) : random.below(300)
    return random.bytes(type.name === 'bigint' && random.chance(0.95) ? length % 65 : length)
  }

  #isAccount(name: string, index: number): boolean {
    if (index !== 0) return false
    return /^(balance|min_balance|app_opted_in|app_local_|acct_params|voter_params|asset_holding)/.test(name)
  }

  #isApplication(name: string, index: number): boolean {
    if (/^app_(opted_in|local_get_ex)$/.test(name)) return index === 1
    return index === 0 && /^(app_global_get_ex|app_params_|app_box_)/.test(name)
  }

  #account(): Constant {
    const random = this.#random
    const kind = this.#isCareful && random.chance(0.5) && this.#version >= 4 ? 1 : random.below(4)
    if (kind === 0 || this.#version < 4) return this.#integer(random.below(3))
    if (kind === 1) return { line: 'txn Sender', kind: 'bytes' }
    const isOwn = kind === 2 && this.#version >= 5 && !this.#isSignature
    if (isOwn) return { line: 'global CurrentApplicationAddress', kind: 'bytes' }
    return this.#bytes(random.pick(this.#names.accounts))
  }

  #id(ids: readonly bigint[]): Constant {
    const random = this.#random
    return this.#integer(random.chance(0.8) ? random.pick(ids) : random.below(4))
  }

  #immediates({ name, immediates }: Instruction): Immediates | undefined {
    const random = this.#random
    const texts: string[] = []
    let field: Field | undefined
    for (const { kind, group, name: immediate } of immediates) {
      if (group !== undefined) {
        field = this.#field(group)
        if (field === undefined) return undefined
        texts.push(field.name)
      } else if (kind === 'uint8') texts.push(String(this.#byte(name, immediate)))
      else if (kind === 'int8') texts.push(String(random.between(-3, 3)))
      else if (kind === 'varuint') texts.push(String(random.uint64()))
      else if (kind === 'bytes') texts.push(text(random.bytes(random.below(40))))
      else if (kind === 'varuints')
        texts.push(...Array.from({ length: random.below(5) }, () => String(random.uint64())))
      else if (kind === 'byteses')
        texts.push(...Array.from({ length: random.below(5) }, () => text(random.bytes(random.below(9)))))
      else if (kind === 'int16s') return undefined
    }
    // The start of a substring is not after its end.
    if (this.#isCareful && name === 'substring') texts.sort((a, b) => Number(a) - Number(b))
    return { texts, field }
  }

  #byte(name: string, immediate: string): number {
    const random = this.#random
    if (this.#isCareful) {
      const height = this.#stack.length
      if (immediate === 't') return random.below(this.#names.groupSize)
      if (name === 'arg') return random.below(Math.max(1, this.#names.argumentCount ?? 2))
      if (/^(dig|cover|uncover)$/.test(name)) return random.below(Math.max(1, Math.min(height, 200)))
      if (name === 'bury') return random.between(1, Math.max(1, Math.min(height - 1, 200)))
      if (name === 'popn') return random.below(Math.min(height, 200) + 1)
      if (/a$/.test(name) && immediate === 'i') return random.below(random.chance(0.7) ? 1 : 3)
    }
    if (immediate === 't') return random.below(this.#names.groupSize + (random.chance(0.05) ? 2 : 0))
    if (/^(dig|cover|uncover|bury|popn|dupn)$/.test(name)) return random.below(Math.max(1, this.#stack.length) + 1)
    return random.chance(0.95) ? random.below(4) : random.below(256)
  }

  #field(group: string): Field | undefined {
    const random = this.#random
    const table = group.startsWith('txn') ? 'txn' : group === 'appParamsSettable' ? 'appParams' : group
    const names = Fields.fieldTable[table]!.trim()
      .split('\n')
      .map((row) => row.split(';')[1]!.trim())
    for (let tries = 0; tries < 30; tries++) {
      const field = Fields.named(group, random.pick(names))
      if (field === undefined || field.version > this.#version) continue
      if (field.isAppOnly && this.#isSignature && !random.chance(0.02)) continue
      if (group === 'appParamsSettable' && field.setVersion === undefined) continue
      return field
    }
    return undefined
  }

  /** Branches forward, loops, subroutines, switches. */
  #flow(): void {
    const random = this.#random
    const version = this.#version
    const label = `l${this.#labels++}`
    const kind = random.below(7)
    if (kind === 0 && version >= 4) {
      this.#push(this.#integer(random.between(1, 4)))
      this.#add(`${label}:`)
      for (let count = random.below(3); count > 0; count--) {
        this.#push(this.#integer(random.uint64()))
        this.#add('pop')
        this.#stack.pop()
      }
      this.#add('int 1', '-', 'dup', `bnz ${label}`)
    } else if (kind === 1 && version >= 4) {
      this.#add(`callsub ${label}`)
      const hasProto = version >= 8 && random.chance(0.6)
      this.#addSubroutine(`${label}:`)
      if (hasProto) {
        const [takes, gives] = [random.below(Math.min(3, this.#stack.length + 1)), random.below(3)]
        this.#addSubroutine(`proto ${takes} ${gives}`)
        for (let count = 0; count < gives + random.below(2); count++) this.#addSubroutine(`int ${count}`)
        if (takes > 0) this.#addSubroutine(`frame_dig -${random.between(1, takes)}`)
        if (gives > 0 && random.chance(0.5)) this.#addSubroutine('int 3', `frame_bury ${random.below(gives + 1)}`)
        for (let count = 0; count < takes; count++) this.#stack.pop()
        for (let count = 0; count < gives; count++) this.#stack.push('any')
      } else this.#addSubroutine('int 5', 'pop')
      this.#addSubroutine(this.#isCareful || random.chance(0.95) ? 'retsub' : 'int 1')
    } else if (kind === 2 && version >= 8) {
      this.#push(this.#integer(random.below(4)))
      this.#add(`switch ${label} ${label}b ${label}`, `int 7; pop`, `${label}b:`, 'int 8; pop', `${label}:`)
      this.#stack.pop()
    } else if (kind === 3 && version >= 8) {
      this.#push(this.#integer(3))
      this.#push(this.#integer(4))
      this.#push(this.#integer(random.between(3, 5)))
      this.#add(`match ${label} ${label}b`, `int 7; pop`, `${label}b:`, 'int 8; pop', `${label}:`)
      this.#stack.splice(-3)
    } else if (kind === 4 && version >= 3) {
      this.#push(this.#integer(this.#isCareful || random.chance(0.9) ? 1 : 0))
      this.#add('assert')
      this.#stack.pop()
    } else {
      this.#push(this.#integer(random.below(2)))
      this.#add(`${version >= 2 ? random.pick(['bnz', 'bz']) : 'bnz'} ${label}`)
      this.#stack.pop()
      const before = [...this.#stack]
      for (let count = random.below(3); count > 0; count--) this.#instruction()
      this.#stack = before
      this.#add(`${label}:`)
    }
  }

  /** An inner transaction with random fields, or a short group of them. */
  #innerTransaction(): void {
    const random = this.#random
    const version = this.#version
    if (this.#isSignature || version < 5) return
    const types = version >= 6 ? ['pay', 'axfer', 'acfg', 'afrz', 'appl', 'keyreg'] : ['pay', 'axfer', 'acfg', 'afrz']
    this.#add('itxn_begin')
    for (let count = random.chance(0.2) && version >= 6 ? 2 : 1; count > 0; count--) {
      const type = random.pick(types)
      if (random.chance(0.97)) this.#add(`int ${type}`, 'itxn_field TypeEnum')
      this.#add(...randomInnerFields(type, { random, names: this.#names, version }))
      if (count > 1) this.#add('itxn_next')
    }
    this.#add('itxn_submit')
  }
}
