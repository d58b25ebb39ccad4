/**
 * Decodes texts on this wire, which are bytes that are usually but not necessarily UTF-8. An invalid byte becomes a
 * lone surrogate. Valid UTF-8 never decodes to one, so a writer can distinguish it from a character.
 */
export const invalid = '\ud800'

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function decode(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes)
  } catch {
    return decodeLoosely(bytes)
  }
}

function decodeLoosely(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes[at]!)
    const character = length === 0 ? undefined : decodeOne(bytes.subarray(at, at + length))
    text += character ?? invalid
    at += character === undefined ? 1 : length
  }
  return text
}

function decodeOne(sequence: Uint8Array): string | undefined {
  try {
    return strict.decode(sequence)
  } catch {
    return undefined
  }
}

function sequenceLength(first: number): number {
  if (first < 0x80) return 1
  if (first >= 0xc2 && first <= 0xdf) return 2
  if (first >= 0xe0 && first <= 0xef) return 3
  if (first >= 0xf0 && first <= 0xf4) return 4
  return 0
}
