/** Constants of `int`, `byte`, `addr` and `method`: which of them go into a block, and at which index. */
import { Bytes } from '@latchkey/algorand'
import * as Varint from '../encoding/Varint.js'
import type { Item } from './Program.js'

/** The first version that pushes constants that are used once, and sorts the others by use. */
export const optimizedVersion = 4

/** The most constants of a kind that a program can have. */
export const maxConstants = 256

/** Encodes the uses of constants of one kind. */
type Coding<Value> = {
  readonly block: number
  readonly short: number
  readonly long: number
  readonly push: number
  readonly encode: (value: Value) => readonly number[]
  readonly keyOf: (value: Value) => string
}

const integers: Coding<bigint> = {
  block: 0x20,
  long: 0x21,
  short: 0x22,
  push: 0x81,
  encode: Varint.encode,
  keyOf: String,
}

const byteStrings: Coding<Uint8Array> = {
  block: 0x26,
  long: 0x27,
  short: 0x28,
  push: 0x80,
  encode: (value) => [...Varint.encode(BigInt(value.length)), ...value],
  keyOf: Bytes.toHex,
}

/** The items with constants replaced by instructions, and the automatic blocks. */
export type Resolved = {
  readonly items: readonly Item[]
  /** The encoded integers of the automatic block. Empty if there is none. */
  readonly integers: readonly (readonly number[])[]
  /** The encoded byte strings of the automatic block. */
  readonly byteStrings: readonly (readonly number[])[]
}

/** Replaces each use of a constant by an instruction. */
export function resolve(items: readonly Item[], version: number): Resolved {
  const integerBlock = new Block(
    integers,
    items.flatMap((item) => (item.kind === 'integer' ? [item.value] : [])),
    version,
  )
  const bytesBlock = new Block(
    byteStrings,
    items.flatMap((item) => (item.kind === 'bytes' ? [item.value] : [])),
    version,
  )
  return {
    items: items.map((item) => {
      if (item.kind === 'integer') return { ...placeOf(item), kind: 'plain', bytes: integerBlock.use(item.value) }
      if (item.kind === 'bytes') return { ...placeOf(item), kind: 'plain', bytes: bytesBlock.use(item.value) }
      return item
    }),
    integers: integerBlock.encoded,
    byteStrings: bytesBlock.encoded,
  }
}

/** Encodes an `intcblock` of encoded integers, or nothing without any. */
export function integerBlock(encoded: readonly (readonly number[])[]): number[] {
  return blockOf(integers.block, encoded)
}

/** Encodes a `bytecblock` of encoded byte strings, or nothing without any. */
export function bytesBlock(encoded: readonly (readonly number[])[]): number[] {
  return blockOf(byteStrings.block, encoded)
}

/** Encodes an `intc` of an index in its shortest form. */
export function integerAt(index: number): number[] {
  return indexed(integers, index)
}

/** Encodes a `bytec` of an index in its shortest form. */
export function bytesAt(index: number): number[] {
  return indexed(byteStrings, index)
}

/** Encodes `pushint`. */
export function pushInteger(value: bigint): number[] {
  return [integers.push, ...integers.encode(value)]
}

/** Encodes `pushbytes`. */
export function pushBytes(value: Uint8Array): number[] {
  return [byteStrings.push, ...byteStrings.encode(value)]
}

class Block<Value> {
  readonly encoded: readonly (readonly number[])[]
  readonly #coding: Coding<Value>
  readonly #indexes: ReadonlyMap<string, number>

  constructor(coding: Coding<Value>, values: readonly Value[], version: number) {
    this.#coding = coding
    const uses = new Map<string, { value: Value; count: number }>()
    for (const value of values) {
      const use = uses.get(coding.keyOf(value))
      if (use === undefined) uses.set(coding.keyOf(value), { value, count: 1 })
      else use.count++
    }
    let kept = [...uses.values()]
    if (version >= optimizedVersion) {
      kept = kept.filter(({ count }) => count > 1).sort((a, b) => b.count - a.count)
    }
    this.encoded = kept.map(({ value }) => coding.encode(value))
    this.#indexes = new Map(kept.map(({ value }, index) => [coding.keyOf(value), index]))
  }

  use(value: Value): readonly number[] {
    const index = this.#indexes.get(this.#coding.keyOf(value))
    return index === undefined ? [this.#coding.push, ...this.#coding.encode(value)] : indexed(this.#coding, index)
  }
}

function indexed<Value>({ short, long }: Coding<Value>, index: number): number[] {
  return index < 4 ? [short + index] : [long, index]
}

function blockOf(opcode: number, encoded: readonly (readonly number[])[]): number[] {
  return encoded.length === 0 ? [] : [opcode, ...Varint.encode(BigInt(encoded.length)), ...encoded.flat()]
}

function placeOf({ line, column }: Item): { line: number; column: number } {
  return { line, column }
}
