import { decodeUtf8 } from '#platform'
import * as Bytes from './Bytes.js'

// Text in transactions is short and nearly always ASCII, for which a loop is several times faster than the platform's
// functions.
const maxLoop = 32
const encoder = new TextEncoder()

/** Returns the text, or undefined if the bytes are not UTF-8. */
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
  return decodeUtf8(bytes)
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
  return encoder.encode(text)
}
