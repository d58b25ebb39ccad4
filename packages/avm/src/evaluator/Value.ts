/** Values of the stack: a uint64 as a bigint, or a byte string. Byte strings are never changed in place. */
export type Value = bigint | Uint8Array

/** The kind of a value, as messages name it. */
export function kindOf(value: Value): 'uint64' | '[]byte' {
  return typeof value === 'bigint' ? 'uint64' : '[]byte'
}

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
  let hex = ''
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0')
  return hex === '' ? 0n : BigInt(`0x${hex}`)
}

/** A number, big-endian, in a fixed length or in as few bytes as possible. Zero has no bytes. */
export function encodeInteger(value: bigint, length?: number): Uint8Array {
  const hex = value === 0n ? '' : value.toString(16)
  const bytes = new Uint8Array(length ?? Math.ceil(hex.length / 2))
  const padded = hex.padStart(2 * bytes.length, '0')
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = Number.parseInt(padded.slice(2 * index, 2 * index + 2), 16)
  }
  return bytes
}
