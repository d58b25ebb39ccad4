/** Values of the stack: a uint64 as a bigint, or a byte string. Byte strings are never changed in place. */
export type Value = bigint | Uint8Array

/** The kind of a value, as messages name it. */
export function kindOf(value: Value): 'uint64' | '[]byte' {
  return typeof value === 'bigint' ? 'uint64' : '[]byte'
}

const wordBytes = 8
const wordBits = 64n

/** 1 or 0. */
export function fromBoolean(isTrue: boolean): bigint {
  return isTrue ? 1n : 0n
}

/** Eight bytes, big-endian. */
export function encodeUint64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, value)
  return bytes
}

/** A number of any length, big-endian. No bytes are zero. */
export function decodeInteger(bytes: Uint8Array): bigint {
  const { buffer, byteOffset, length } = bytes
  const head = length % wordBytes
  let value = 0n
  for (let index = 0; index < head; index++) value = (value << 8n) | BigInt(bytes[index]!)
  const view = new DataView(buffer, byteOffset, length)
  for (let index = head; index < length; index += wordBytes) value = (value << wordBits) | view.getBigUint64(index)
  return value
}

/** A number, big-endian, in a fixed length or in as few bytes as possible. Zero has no bytes. */
export function encodeInteger(value: bigint, length?: number): Uint8Array {
  const bytes = new Uint8Array(length ?? (value === 0n ? 0 : Math.ceil(value.toString(16).length / 2)))
  const view = new DataView(bytes.buffer)
  let rest = value
  let end = bytes.length
  for (; end >= wordBytes; end -= wordBytes) {
    view.setBigUint64(end - wordBytes, BigInt.asUintN(Number(wordBits), rest))
    rest >>= wordBits
  }
  for (; end > 0; end--) {
    bytes[end - 1] = Number(rest & 0xffn)
    rest >>= 8n
  }
  return bytes
}
