/** JSON with 64-bit integers, as Algorand nodes write it. `JSON.parse` alone would round them. */

/** A JSON object whose members have not been checked yet. */
export type Members = { readonly [name: string]: unknown }

/** Whether a parsed value is a JSON object, and not an array or null. */
export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Parses JSON. Integers of up to 20 digits that a number cannot hold exactly become bigints; all other numbers stay
 * numbers.
 *
 * @throws SyntaxError if the text is not JSON or is nested too deeply.
 */
export function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    if (!longDigits.test(text)) return value
    // The text is valid JSON here, so a linear scan finds all tokens.
    return unmark(JSON.parse(text.replace(token, markLongInteger)))
  } catch (error) {
    // The stack limits the depth.
    if (error instanceof RangeError) throw new SyntaxError('nested too deeply')
    throw error
  }
}

/** Parses a JSON object with the numbers of `JSON.parse`. Returns undefined for any other text. */
export function parseObject(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns the value as an unsigned 64-bit integer, or undefined if it is not one. */
export function uint64(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value >= 0n && value <= maxUint64 ? value : undefined
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined
}

const maxUint64 = 2n ** 64n - 1n
const longDigits = /[0-9]{16}/
/** 64 bits hold at most 20 digits. More would only cost time, because `BigInt` is not linear in their number. */
const longInteger = /^-?[0-9]{16,20}$/
/** A number, or a string with the colon that makes it a member name. */
const token = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|-?[0-9][0-9.eE+-]*/g
/** Long integers pass `JSON.parse` as strings with this prefix. Strings that already have it get a second one. */
const mark = '\u0001'

function markLongInteger(match: string, string: string | undefined, colon: string | undefined): string {
  if (string === undefined) return isUnsafeInteger(match) ? `"\\u0001${match}"` : match
  // In JSON a control character is always escaped.
  if (colon !== undefined || !string.startsWith('"\\u0001')) return match
  return `"\\u0001${string.slice(1)}`
}

function isUnsafeInteger(text: string): boolean {
  return longInteger.test(text) && !Number.isSafeInteger(Number(text))
}

/** Walks the whole value in place. A reviver would be ten times slower. */
function unmark(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? unmarkText(value.slice(1)) : value
  if (typeof value !== 'object' || value === null) return value
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name]
    const unmarked = unmark(member)
    // An assignment would not create a member called `__proto__`.
    if (unmarked !== member) Object.defineProperty(value, name, { ...memberOptions, value: unmarked })
  }
  return value
}

const memberOptions = { configurable: true, enumerable: true, writable: true }

function unmarkText(rest: string): unknown {
  return rest.startsWith(mark) ? rest : BigInt(rest)
}
