/**
 * Bytes as the key of a map: a string of one character per byte. Addresses, keys of application state and names of
 * boxes have this form wherever they identify a record.
 */

/** Bytes as the key of a map: a string of one character per byte. */
export type ByteKey = string

const chunk = 4096

/** Returns the key of a byte string. */
export function of(bytes: Uint8Array): ByteKey {
  if (bytes.length <= chunk) return String.fromCharCode.apply(undefined, bytes as unknown as number[])
  let key = ''
  for (let start = 0; start < bytes.length; start += chunk) key += of(bytes.subarray(start, start + chunk))
  return key
}

/** Returns the bytes of a key. */
export function bytes(key: ByteKey): Uint8Array {
  const result = new Uint8Array(key.length)
  for (let index = 0; index < key.length; index++) result[index] = key.charCodeAt(index)
  return result
}

/** The zero address. */
export const zeroAddress: ByteKey = '\0'.repeat(32)
