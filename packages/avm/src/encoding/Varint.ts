/** Integers of variable length: seven bits a byte, the lowest first. */
import { maxUint64 } from '../opcodes/StackType.js'

/** Encodes a uint64. */
export function encode(value: bigint): number[] {
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return bytes
}

/** Encodes a signed integer: the sign is the lowest bit. */
export function encodeSigned(value: number): number[] {
  return encode(value < 0 ? -2n * BigInt(value) - 1n : 2n * BigInt(value))
}

/** A decoded integer. */
export type Decoded = {
  readonly value: bigint
  /** The number of bytes. */
  readonly length: number
}

/** Decodes a uint64. Returns undefined if the bytes end early or the number is larger than a uint64. */
export function decode(bytes: Uint8Array, offset: number): Decoded | undefined {
  let value = 0n
  for (let index = 0; index < 10; index++) {
    const byte = bytes[offset + index]
    if (byte === undefined) return undefined
    value |= BigInt(byte & 0x7f) << BigInt(7 * index)
    if (byte < 0x80) return value > maxUint64 ? undefined : { value, length: index + 1 }
  }
  return undefined
}

/** Decodes a signed integer. */
export function decodeSigned(bytes: Uint8Array, offset: number): Decoded | undefined {
  const decoded = decode(bytes, offset)
  if (decoded === undefined) return undefined
  const { value, length } = decoded
  return { value: (value & 1n) === 0n ? value >> 1n : -(value >> 1n) - 1n, length }
}

/** The number of bytes of {@link encodeSigned}. */
export function signedLength(value: number): number {
  let rest = value < 0 ? -2 * value - 1 : 2 * value
  let length = 1
  for (; rest >= 128; length++) rest = Math.floor(rest / 128)
  return length
}
