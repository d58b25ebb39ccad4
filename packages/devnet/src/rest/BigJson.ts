/** JSON whose integers may be larger than JavaScript's: those become bigints. */

/** A string, which is passed over, or a number. One that does not end is passed over too, so as to look at it once. */
const stringOrNumber = /"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\\?$)|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g
/** What large integers become on the way. A string that spells it counts as the integer; no member takes either. */
const mark = '\u0001'
const marked = new RegExp(`^${mark}[0-9]+$`)

/** Throws a SyntaxError. */
export function parse(text: string): unknown {
  if (text.includes(mark)) throw new SyntaxError('a control character is not JSON')
  const safe = text.replace(stringOrNumber, (token) => (/^[0-9]{16,20}$/.test(token) ? `"\\u0001${token}"` : token))
  try {
    return JSON.parse(safe, (_, value) =>
      typeof value === 'string' && marked.test(value) ? BigInt(value.slice(1)) : value,
    )
  } catch (error) {
    // The stack is what limits the depth.
    if (error instanceof RangeError) throw new SyntaxError('nested too deeply')
    throw error
  }
}
