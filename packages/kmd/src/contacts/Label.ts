/** Labels of addresses: the owner's own words, shown in a terminal and in a page beside the address. */
import { Address } from '@latchkey/algorand'

const maxCharacters = 64
/** In UTF-16, before it is looked at: bodies may be large. */
const maxLength = 1_000
/** Control characters, invisible ones, and those that reorder the text around them. The emoji selector is harmless. */
const hidden = /[\p{C}\p{Zl}\p{Zp}]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}/u
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u

/** Returns the label in the one form in which it is stored, or undefined if it cannot be one. */
export function normalize(text: string): string | undefined {
  if (text.length > maxLength) return undefined
  const label = text.normalize('NFC').trim().replace(/\s+/gu, ' ')
  if (hidden.test(text.trim()) || !visible.test(label) || [...label].length > maxCharacters) return undefined
  // A label that is an address would be read as the address.
  return Address.isValid(label.toUpperCase()) ? undefined : label
}

/** Two labels are the same if people would read them as the same. */
export function comparable(label: string): string {
  return label.normalize('NFKC').toLowerCase()
}
