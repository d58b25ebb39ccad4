/** JSON with integers of any length, as nodes write them: those that a JavaScript number cannot hold become texts. */

/** Throws SyntaxError for what is no JSON. */
export function parse(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!longDigits.test(text)) return value
  // Only now: over what is JSON for certain, each letter belongs to one token, and this takes a time that is linear.
  return JSON.parse(text.replace(stringOrNumber, (token) => (isLongInteger(token) ? `"${token}"` : token)))
}

const longDigits = /[0-9]{16}/
const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*/g

function isLongInteger(token: string): boolean {
  return token.length >= 16 && /^[0-9]+$/.test(token)
}

/** A member that is an integer of 64 bits, or undefined. */
export function uint64(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined
  if (typeof value !== 'string' || !/^[0-9]{16,20}$/.test(value)) return undefined
  const integer = BigInt(value)
  return integer < 1n << 64n ? integer : undefined
}
