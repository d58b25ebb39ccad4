const escapes: { readonly [character: string]: string } = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
}

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

/** Whether messages show a character as it is. */
export function isPrintable(character: string): boolean {
  return printable.test(character)
}

/** Writes a text in double quotes with the escapes of the reference's messages. */
export function quote(text: string): string {
  return `"${[...text].map((character) => (character === '"' ? '\\"' : escaped(character))).join('')}"`
}

/** Writes a character in single quotes. */
export function quoteCharacter(character: string): string {
  return `'${character === "'" ? "\\'" : escaped(character)}'`
}

function escaped(character: string): string {
  const known = escapes[character]
  if (known !== undefined) return known
  if (isPrintable(character)) return character
  const code = character.codePointAt(0)!
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}
