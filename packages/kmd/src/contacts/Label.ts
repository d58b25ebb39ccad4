/** Labels of addresses, chosen by the owner and shown next to the address in terminals and pages. */
import { Address } from '@latchkey/algorand'

const maxCharacters = 64
/** The maximum length in UTF-16, checked first because bodies may be large. */
const maxLength = 1_000
/** Control characters, invisible ones, and those that reorder surrounding text. The emoji selector is harmless. */
const hidden = /[\p{C}\p{Zl}\p{Zp}]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}/u
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u

/** Returns the label in its stored form; undefined if it is not valid. */
export function normalize(text: string): string | undefined {
  if (text.length > maxLength) return undefined
  const label = text.normalize('NFC').trim().replace(/\s+/gu, ' ')
  if (hidden.test(text.trim()) || !visible.test(label) || [...label].length > maxCharacters) return undefined
  // A label that is an address would be mistaken for the address.
  return Address.isValid(label.toUpperCase()) ? undefined : label
}

/** Two labels are equal if people would read them as equal. */
export function comparable(label: string): string {
  return label.normalize('NFKC').toLowerCase()
}
