/**
 * Formats untrusted text of the caller for the owner's decision: one bounded line that cannot imitate anything else.
 */
import { VisibleText } from '@latchkey/algorand'

export function claimText(text: string | undefined, maxLength: number): string {
  if (text === undefined) return ''
  const line = VisibleText.replaceHidden(text.slice(0, 4 * maxLength), ' ')
    .replace(/\s+/gu, ' ')
    .trim()
  const characters = [...line]
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join('')}…`
}
