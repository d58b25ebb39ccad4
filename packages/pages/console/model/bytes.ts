/** Bytes as text and back. */

/** By pieces: an argument list has a limit. */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}

export function fromBase64(text: string): Uint8Array {
  const letters = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  return Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0))
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** What people paste: one piece of base64 or several, with line breaks, quotes and commas between them. */
export function fromPasted(text: string): Uint8Array {
  const pieces = text.replace(/[\s"',[\]]+/g, '').match(/[^=]+={0,2}/g) ?? []
  if (pieces.length === 0) throw new NotBase64Error()
  try {
    return concat(pieces.map(fromBase64))
  } catch {
    throw new NotBase64Error()
  }
}

/** A file holds the transaction itself, which begins as a map of MessagePack does, or the base64 of it. */
export function fromFile(bytes: Uint8Array): Uint8Array {
  const first = bytes[0] ?? 0
  const isMap = (first >= 0x80 && first <= 0x8f) || first === 0xde || first === 0xdf
  return isMap ? bytes : fromPasted(new TextDecoder().decode(bytes))
}

export class NotBase64Error extends Error {
  override name = 'NotBase64Error'

  constructor() {
    super('This is not base64. Paste the transaction as the program that made it wrote it, or choose its file.')
  }
}
