/** UTF-8 with one replacement character for each invalid byte, as Go decodes it. */

const replacement = '\ufffd'

/** Decodes UTF-8. */
export function decode(bytes: Uint8Array): string {
  let text = ''
  for (let offset = 0; offset < bytes.length; ) {
    const length = lengthAt(bytes, offset)
    const point = length === 0 ? undefined : pointAt(bytes, offset, length)
    text += point === undefined ? replacement : String.fromCodePoint(point)
    offset += point === undefined ? 1 : length
  }
  return text
}

function lengthAt(bytes: Uint8Array, offset: number): number {
  const byte = bytes[offset]!
  if (byte < 0x80) return 1
  if (byte < 0xc2 || byte > 0xf4) return 0
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
}

/** Returns undefined for a sequence that is cut, overlong, a surrogate or above the last code point. */
function pointAt(bytes: Uint8Array, offset: number, length: number): number | undefined {
  if (length === 1) return bytes[offset]!
  let point = bytes[offset]! & (0x7f >> length)
  for (let index = 1; index < length; index++) {
    const byte = bytes[offset + index]
    if (byte === undefined || (byte & 0xc0) !== 0x80) return undefined
    point = (point << 6) | (byte & 0x3f)
  }
  const smallest = [0, 0, 0x80, 0x800, 0x10000][length]!
  const isSurrogate = point >= 0xd800 && point <= 0xdfff
  return point < smallest || isSurrogate || point > 0x10ffff ? undefined : point
}
