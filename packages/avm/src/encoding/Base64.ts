/** Base64 that says where it failed, in either alphabet. Line breaks are skipped. */

/** How to decode base64. */
export type Base64Options = {
  /** Use `-` and `_` instead of `+` and `/`. */
  readonly isUrl?: boolean
  /** Require padding; without it, padding is invalid. @default true */
  readonly isPadded?: boolean
  /** Require the unused bits of the last character to be zero. */
  readonly isStrict?: boolean
}

const newline = 10
const carriageReturn = 13
const padding = 61

/** Decodes base64. Returns the offset of the first invalid byte if the text is not base64. */
export function decode(
  text: Uint8Array,
  { isUrl = false, isPadded = true, isStrict = false }: Base64Options = {},
): Uint8Array | number {
  const output = new Uint8Array(Math.ceil((text.length * 3) / 4))
  let length = 0
  let offset = 0
  const skipLineBreaks = (): void => {
    while (text[offset] === newline || text[offset] === carriageReturn) offset++
  }
  for (;;) {
    let bits = 0
    let digits = 0
    let isLast = false
    while (digits < 4) {
      const byte = text[offset]
      if (byte === undefined) {
        if (digits === 0) return output.subarray(0, length)
        if (digits === 1 || isPadded) return offset - digits
        isLast = true
        break
      }
      offset++
      if (byte === newline || byte === carriageReturn) continue
      const value = digitValue(byte, isUrl)
      if (value !== undefined) {
        bits = (bits << 6) | value
        digits++
        continue
      }
      if (byte !== padding || !isPadded || digits < 2) return offset - 1
      if (digits === 2) {
        skipLineBreaks()
        if (offset === text.length) return text.length
        if (text[offset] !== padding) return offset - 1
        offset++
      }
      skipLineBreaks()
      if (offset < text.length) return offset
      isLast = true
      break
    }
    bits <<= 6 * (4 - digits)
    if (isStrict && digits === 2 && (bits & 0xffff) !== 0) return offset - 2
    if (isStrict && digits === 3 && (bits & 0xff) !== 0) return offset - 1
    for (let index = 0; index < digits - 1; index++) output[length++] = (bits >> (16 - 8 * index)) & 0xff
    if (isLast) return output.subarray(0, length)
  }
}

function digitValue(byte: number, isUrl: boolean): number | undefined {
  if (byte >= 65 && byte <= 90) return byte - 65
  if (byte >= 97 && byte <= 122) return byte - 71
  if (byte >= 48 && byte <= 57) return byte + 4
  if (byte === (isUrl ? 45 : 43)) return 62
  return byte === (isUrl ? 95 : 47) ? 63 : undefined
}
