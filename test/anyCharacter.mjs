/**
 * A random Unicode character. `fc.string({ unit: 'binary' })` chooses the same characters, but first fills a map with a
 * million of them, which takes a second and makes every later garbage collection of the process slower.
 */
import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

export const anyCharacter = fc
  .nat({ max: 0x10ffff - surrogates.count })
  .map((index) => String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count), indexOf)

/** Lets fast-check recognize a character, so it can also try strings such as `__proto__`. */
function indexOf(character) {
  const code = typeof character === 'string' ? character.codePointAt(0) : undefined
  if (code === undefined || character !== String.fromCodePoint(code)) throw new Error('not one character')
  return code < surrogates.first ? code : code - surrogates.count
}
