/**
 * Matches a pattern like SQL's ILIKE, with which an indexer searches names: `%` stands for any letters, `_` for one, a
 * backslash makes the next one literal, and case does not matter. Takes at most the product of the lengths.
 */
export function isLike(text: string, pattern: string): boolean {
  const letters = [...text.toLowerCase()]
  const parts = partsOf(pattern.toLowerCase())
  let [at, part] = [0, 0]
  // Where to continue if the letters after the last `%` do not match: it then consumes one more letter.
  let [afterAny, retryAt] = [-1, 0]
  while (at < letters.length) {
    const wanted = parts[part]
    if (wanted === any) {
      part++
      afterAny = part
      retryAt = at
    } else if (wanted !== undefined && (wanted === one || wanted === letters[at])) {
      at++
      part++
    } else if (afterAny >= 0) {
      retryAt++
      at = retryAt
      part = afterAny
    } else return false
  }
  return parts.slice(part).every((rest) => rest === any)
}

const any = Symbol('any letters')
const one = Symbol('one letter')

function partsOf(pattern: string): (string | typeof any | typeof one)[] {
  const parts: (string | typeof any | typeof one)[] = []
  let isLiteral = false
  for (const letter of pattern) {
    if (letter === '\\' && !isLiteral) {
      isLiteral = true
      continue
    }
    parts.push(isLiteral || (letter !== '%' && letter !== '_') ? letter : letter === '%' ? any : one)
    isLiteral = false
  }
  return parts
}
