// RFC 4648 base32, upper case, without padding.
import { decodeLatin1 } from '#platform'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const codes = Uint8Array.from(alphabet, (character) => character.charCodeAt(0))

/** Value of each character code, 255 where the character is not in the alphabet. */
const values = new Uint8Array(128).fill(255)
for (let value = 0; value < codes.length; value++) values[codes[value]!] = value

export function encode(bytes: Uint8Array): string {
  const out = new Uint8Array(Math.ceil((bytes.length * 8) / 5))
  let buffer = 0
  let bits = 0
  let length = 0
  for (let index = 0; index < bytes.length; index++) {
    buffer = ((buffer & 0x1f) << 8) | bytes[index]!
    bits += 8
    while (bits >= 5) {
      bits -= 5
      out[length++] = codes[(buffer >>> bits) & 31]!
    }
  }
  if (bits > 0) out[length] = codes[(buffer << (5 - bits)) & 31]!
  return decodeLatin1(out)
}

/** Returns the bytes, or undefined for a foreign character, an impossible length or nonzero unused bits at the end. */
export function decode(text: string): Uint8Array | undefined {
  const out = new Uint8Array(Math.floor((text.length * 5) / 8))
  let buffer = 0
  let bits = 0
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const value = code < 128 ? values[code]! : 255
    if (value === 255) return undefined
    buffer = ((buffer & 0xff) << 5) | value
    bits += 5
    if (bits >= 8) {
      bits -= 8
      out[length++] = (buffer >>> bits) & 255
    }
  }
  // More than four leftover bits would be an extra character, and nonzero ones a second spelling.
  if (bits > 4 || (buffer & ((1 << bits) - 1)) !== 0) return undefined
  return out
}
