import { isUtf8 } from 'node:buffer'
import * as Bytes from './Bytes.js'

// Text in transactions is short and nearly always ASCII; for that a loop beats the calls into Node several times.
const maxLoop = 32

/** The text, or undefined if the bytes are not UTF-8. */
export function decode(bytes: Uint8Array): string | undefined {
  if (bytes.length <= maxLoop) {
    let text = ''
    let index = 0
    for (; index < bytes.length; index++) {
      const byte = bytes[index]!
      if (byte >= 0x80) break
      text += String.fromCharCode(byte)
    }
    if (index === bytes.length) return text
  }
  if (!isUtf8(bytes)) return undefined
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

export function encode(text: string): Uint8Array {
  if (text.length <= maxLoop) {
    const out = Bytes.allocate(text.length)
    let index = 0
    for (; index < text.length; index++) {
      const code = text.charCodeAt(index)
      if (code >= 0x80) break
      out[index] = code
    }
    if (index === text.length) return out
  }
  return Buffer.from(text, 'utf8')
}
