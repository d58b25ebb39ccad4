import { Bytes } from '@latchkey/algorand'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/**
 * Decodes standard base64, with or without padding; undefined if the text has other characters. Published clients send
 * both forms, so bits past the last byte are ignored as well.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  return Bytes.fromBase64(text) ?? Bytes.fromBase64(canonical(text.replace(/=+$/, '')))
}

function canonical(digits: string): string {
  const rest = digits.length % 4
  if (rest === 0) return digits
  // A single digit after the last group of four has too few bits for a byte.
  if (rest === 1) return digits.slice(0, -1)
  const last = alphabet.indexOf(digits.at(-1)!) & (rest === 2 ? 0x30 : 0x3c)
  return `${digits.slice(0, -1)}${alphabet[last]}`.padEnd(digits.length + 4 - rest, '=')
}
