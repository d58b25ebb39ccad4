/** Text of the caller, which an owner reads before deciding: one bounded line that cannot pretend to be anything else. */

/** Control characters, invisible ones, line ends, and those that reorder the text around them. */
const hidden = /[\p{C}\p{Zl}\p{Zp}]|\p{Default_Ignorable_Code_Point}/gu

export function claimText(text: string | undefined, maxLength: number): string {
  if (text === undefined) return ''
  const line = text
    .slice(0, 4 * maxLength)
    .replace(hidden, ' ')
    .replace(/\s+/gu, ' ')
    .trim()
  const characters = [...line]
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join('')}…`
}
