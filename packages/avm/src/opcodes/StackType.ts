/** Types of stack values: a kind, and the range of its numbers or of its lengths. */

/** The kind of a value. `any` is either; `none` marks the end of the stack. */
export type Kind = 'any' | 'uint64' | 'bytes' | 'none'

/** A type of stack values. Two types with the same range may have different names. */
export type StackType = {
  readonly kind: Kind
  /** The name in messages, such as `uint64` or `[32]byte`. */
  readonly name: string
  /** The smallest number, or the smallest length. */
  readonly min: bigint
  /** The largest number, or the largest length. */
  readonly max: bigint
}

/** The largest uint64. */
export const maxUint64 = 0xffffffffffffffffn

/** The largest length of a byte string on the stack. */
export const maxBytesLength = 4096

const maxLength = BigInt(maxBytesLength)

/** Either kind. */
export const any: StackType = { kind: 'any', name: 'any', min: 0n, max: maxUint64 }

/** No value. */
export const none: StackType = { kind: 'none', name: 'none', min: 0n, max: 0n }

/** Any number. */
export const uint64: StackType = { kind: 'uint64', name: 'uint64', min: 0n, max: maxUint64 }

/** Any byte string. */
export const bytes: StackType = { kind: 'bytes', name: '[]byte', min: 0n, max: maxLength }

const named: { readonly [name: string]: StackType } = {
  any,
  none,
  uint64,
  '[]byte': bytes,
  bool: { kind: 'uint64', name: 'bool', min: 0n, max: 1n },
  bigint: { kind: 'bytes', name: 'bigint', min: 0n, max: 64n },
  address: { kind: 'bytes', name: 'address', min: 32n, max: 32n },
  stateKey: { kind: 'bytes', name: 'stateKey', min: 0n, max: 64n },
  boxName: { kind: 'bytes', name: 'boxName', min: 1n, max: 64n },
  method: { kind: 'bytes', name: 'method', min: 4n, max: 4n },
}

/** Returns the type with a name of the instruction table. */
export function parse(name: string): StackType {
  const known = named[name]
  if (known !== undefined) return known
  const [, length] = /^\[(\d+)\]byte$/.exec(name) ?? []
  if (length === undefined) throw new TypeError(`unknown stack type ${name}`)
  return byteString(BigInt(length), BigInt(length))
}

/** A range of numbers. */
export function integer(min: bigint, max: bigint): StackType {
  return { kind: 'uint64', name: integerName(min, max), min, max }
}

/** Byte strings with a range of lengths. */
export function byteString(min: bigint, max: bigint): StackType {
  return { kind: 'bytes', name: bytesName(min, max), min, max }
}

/** Whether a value can have both types. */
export function overlaps(a: StackType, b: StackType): boolean {
  if (a.kind === 'none' || b.kind === 'none') return a.kind === b.kind
  if (a.kind === 'any' || b.kind === 'any') return true
  return a.kind === b.kind && a.min <= b.max && b.min <= a.max
}

/** The smallest type that has the values of both. */
export function union(a: StackType, b: StackType): StackType {
  if (a.kind !== b.kind || a.kind === 'any') return any
  const min = a.min < b.min ? a.min : b.min
  const max = a.max > b.max ? a.max : b.max
  if (a.min === min && a.max === max) return a
  if (b.min === min && b.max === max) return b
  return a.kind === 'uint64' ? integer(min, max) : byteString(min, max)
}

/** The type without its range. */
export function widened(type: StackType): StackType {
  if (type.kind === 'uint64') return uint64
  return type.kind === 'bytes' ? bytes : type
}

function integerName(min: bigint, max: bigint): string {
  if (min === max) return String(min)
  if (min === 0n && max === maxUint64) return 'uint64'
  if (min === 0n) return `uint64 (<= ${max})`
  return max === maxUint64 ? `uint64 (>= ${min})` : `uint64 (${min}-${max})`
}

function bytesName(min: bigint, max: bigint): string {
  if (min === max) return `[${min}]byte`
  if (min === 0n) return max === maxLength ? '[]byte' : `[<=${max}]byte`
  return max === maxLength ? `[>=${min}]byte` : `[${min}-${max}]byte`
}
