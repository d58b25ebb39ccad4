import { Json } from '@latchkey/algorand'

/** The characters of `__proto__` written as JSON escapes. */
const escapedLetters = /\\u00(5f|6f|7[024])/i

/**
 * Undefined for text that is not JSON, and for objects with a member `__proto__`, which would become the prototype of a
 * copy.
 */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return hasPrototype(text, value) ? undefined : value
  } catch {
    return undefined
  }
}

/** Whether a value parsed from the text has a member `__proto__`. */
function hasPrototype(text: string, value: unknown): boolean {
  // The text is searched first, because a reviver makes parsing twelve to thirty times slower.
  const mayHavePrototype = text.includes('__proto__') || escapedLetters.test(text)
  return mayHavePrototype && hasPrototypeMember(value)
}

function hasPrototypeMember(value: unknown): boolean {
  const open: unknown[] = [value]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (Json.isObject(one) && Object.hasOwn(one, '__proto__')) return true
    if (typeof one === 'object' && one !== null) for (const member of Object.values(one)) open.push(member ?? null)
  }
  return false
}
