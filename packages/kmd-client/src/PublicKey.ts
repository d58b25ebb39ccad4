/** Public keys, given as their 32 bytes or by their address. */
import { createHash } from 'node:crypto'

/** 32 bytes, or the address that stands for them. */
export type PublicKey = Uint8Array | string

const length = 32
const checksumLength = 4
const addressLength = 58
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Undefined where it is neither. Some daemons cut or fill up what has another length: never send it. */
export function bytes(key: PublicKey): Uint8Array | undefined {
  if (typeof key === 'string') return decodeAddress(key)
  return key instanceof Uint8Array && key.length === length ? key : undefined
}

function decodeAddress(address: string): Uint8Array | undefined {
  if (address.length !== addressLength) return undefined
  const decoded = Buffer.alloc(length + checksumLength)
  let pending = 0
  let bits = 0
  let at = 0
  for (const letter of address) {
    const value = alphabet.indexOf(letter)
    if (value < 0) return undefined
    pending = ((pending << 5) | value) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      decoded[at++] = pending >> bits
    }
  }
  // 58 letters hold two bits more than 36 bytes; the one right spelling has them zero.
  if ((pending & ((1 << bits) - 1)) !== 0) return undefined
  const key = decoded.subarray(0, length)
  const checksum = createHash('sha512-256').update(key).digest().subarray(-checksumLength)
  return checksum.equals(decoded.subarray(length)) ? new Uint8Array(key) : undefined
}
