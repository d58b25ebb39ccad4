/** Lays out a program: constant blocks, sizes of branches, salt. */
import { Program as Programs } from '@latchkey/algorand'
import { isCurvePoint } from '@latchkey/algorand/post-quantum'
import { quote } from '../encoding/quote.js'
import * as Varint from '../encoding/Varint.js'
import * as Constants from './Constants.js'
import type { Item, Program } from './Program.js'
import type { Token } from './Token.js'

/** The first version whose branches have a length of their own. */
export const variableBranchVersion = 13

const maxSalt = 127
/** Bounds the time. The 8,192 branches that fit in an application need 2 million if they shorten one another in a chain. */
const maxVisits = 16_000_000

/** The bytes of a program, and the place in the source of each instruction by its offset. */
export type LaidOut = { readonly bytes: Uint8Array; readonly places: ReadonlyMap<number, Item> }

/** Lays out a program. Problems with labels become errors of the program. */
export function layOut(program: Program, version: number, hasSalt: boolean): LaidOut {
  const { items, integers, byteStrings } = Constants.resolve(program.items, version)
  const blocks = (salt: readonly (readonly number[])[]): number[] => [
    ...Constants.integerBlock([...integers, ...salt]),
    ...Constants.bytesBlock(byteStrings),
  ]
  const body = new Body(items, program, version)
  const build = (salt: number | undefined): { bytes: Uint8Array; start: number } => {
    const isInBlock = salt !== undefined && integers.length > 0
    const head = [...Varint.encode(BigInt(version)), ...blocks(isInBlock ? [[salt]] : [])]
    const tail = salt === undefined || isInBlock ? [] : Constants.integerBlock([[salt]])
    const bytes = new Uint8Array(head.length + body.bytes.length + tail.length)
    bytes.set(head)
    bytes.set(body.bytes, head.length)
    bytes.set(tail, head.length + body.bytes.length)
    return { bytes, start: head.length }
  }
  let built = build(undefined)
  if (hasSalt && program.errors.length === 0) {
    for (let salt = 0; salt <= maxSalt && isOnCurve(built.bytes); salt++) built = build(salt)
  }
  const places = new Map(items.map((item, index) => [built.start + body.offsets[index]!, item]))
  return { bytes: built.bytes, places }
}

/** Whether the address of a program could be a public key. */
export function isOnCurve(program: Uint8Array): boolean {
  return isCurvePoint(Programs.address(program))
}

/** The instructions after the constant blocks. */
class Body {
  readonly bytes: Uint8Array
  /** The offset of each instruction, and the end. */
  readonly offsets: number[] = []
  readonly #items: readonly Item[]
  readonly #program: Program
  readonly #version: number
  readonly #sizes: number[]
  readonly #undefined = new Set<string>()

  constructor(items: readonly Item[], program: Program, version: number) {
    this.#items = items
    this.#program = program
    this.#version = version
    const isVariable = version >= variableBranchVersion
    this.#sizes = items.map((item) => {
      if (item.kind === 'plain') return item.bytes.length
      if (item.kind === 'branch') return isVariable ? 6 : 3
      return item.kind === 'switch' ? 2 + 2 * item.targets.length : 0
    })
    this.#measure()
    if (isVariable) this.#shrinkAll()
    const parts = items.map((item, index) => this.#encode(item, index))
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    this.bytes = new Uint8Array(length)
    let offset = 0
    for (const part of parts) {
      this.bytes.set(part, offset)
      offset += part.length
    }
  }

  #measure(): void {
    let offset = 0
    for (let index = 0; index < this.#sizes.length; index++) {
      this.offsets[index] = offset
      offset += this.#sizes[index]!
    }
    this.offsets[this.#sizes.length] = offset
  }

  /** Shrinks branches to their shortest form. A shorter one can make others shorter, in a chain one after another. */
  #shrinkAll(): void {
    const { labels } = this.#program
    const branches = this.#items.flatMap((item, index) =>
      item.kind === 'branch' ? [{ index, item, label: labels.get(item.target.text) }] : [],
    )
    let isChanged = branches.length > 0
    for (let visits = 0; isChanged; visits += branches.length) {
      if (visits > maxVisits) {
        this.#program.fail(branches[0]!.item, 'branches are too many to be shortened')
        return
      }
      isChanged = false
      for (const { index, label } of branches) {
        const size = 1 + Varint.signedLength(this.#distance(index, label) ?? 0)
        if (size >= this.#sizes[index]!) continue
        this.#sizes[index] = size
        isChanged = true
      }
      if (isChanged) this.#measure()
    }
  }

  /** The distance of a variable branch: backward from its first byte, forward from its end. */
  #distance(index: number, label: number | undefined): number | undefined {
    if (label === undefined) return undefined
    const start = this.offsets[index]!
    const destination = this.offsets[label]!
    return destination <= start ? destination - start : destination - start - this.#sizes[index]!
  }

  #encode(item: Item, index: number): readonly number[] {
    if (item.kind === 'plain') return item.bytes
    if (item.kind === 'switch') {
      return [item.opcode, item.targets.length, ...item.targets.flatMap((target) => this.#shortBranch(index, target))]
    }
    if (item.kind !== 'branch') return []
    if (this.#version < variableBranchVersion) return [item.opcode, ...this.#shortBranch(index, item.target)]
    const distance = this.#distance(index, this.#program.labels.get(item.target.text))
    if (distance === undefined) this.#failUndefined(item.target)
    if (distance === 0 && this.#program.labels.get(item.target.text) === index) {
      this.#program.fail(item.target, `branch to start of same instruction: ${quote(item.target.text)} `)
    }
    return [item.opcode, ...Varint.encodeSigned(distance ?? 0)]
  }

  #shortBranch(index: number, target: Token): number[] {
    const label = this.#program.labels.get(target.text)
    if (label === undefined) {
      this.#failUndefined(target)
      return [0, 0]
    }
    const end = this.offsets[index + 1]!
    const distance = this.offsets[label]! - end
    const name = quote(target.text)
    if (this.#version < 4 && distance < 0) {
      const reason = 'is a back reference, back jump support was introduced in v4'
      this.#program.fail(target, `label ${name} ${reason}`)
    } else if (distance > 0x7fff || distance < -0x8000 || (this.#version < 2 && label === this.#items.length)) {
      this.#program.fail(target, `label ${name} is too far away`)
    }
    return [(distance >> 8) & 0xff, distance & 0xff]
  }

  #failUndefined(target: Token): void {
    if (this.#undefined.has(target.text)) return
    this.#undefined.add(target.text)
    this.#program.fail(target, `reference to undefined label ${quote(target.text)}`)
  }
}
