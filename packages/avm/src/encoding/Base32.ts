/** Base32 that says where it failed. */

/** Decodes base32 with padding to eight characters, or without padding. Returns the offset of an invalid character. */
export function decode(text: string): Uint8Array | number {
  const isPadded = text.length % 8 === 0
  const digits = isPadded ? text.replace(/={1,6}$/, '') : text
  const output = new Uint8Array(Math.floor((digits.length * 5) / 8))
  let bits = 0
  let bitCount = 0
  let length = 0
  for (let offset = 0; offset < digits.length; offset++) {
    const value = digitValue(digits.charCodeAt(offset))
    if (value === undefined) return offset
    bits = ((bits << 5) | value) & 0xfff
    bitCount += 5
    if (bitCount >= 8) {
      bitCount -= 8
      output[length++] = (bits >> bitCount) & 0xff
    }
  }
  return length === output.length ? output : digits.length
}

function digitValue(code: number): number | undefined {
  if (code >= 65 && code <= 90) return code - 65
  return code >= 50 && code <= 55 ? code - 24 : undefined
}
