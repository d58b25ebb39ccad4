import { VisibleText } from '@latchkey/algorand'

/**
 * Programs choose names. A name must not reorder the surrounding text, or imitate another name with invisible
 * characters.
 */
export function safeName(name: string): string {
  return VisibleText.replaceHidden(name)
}
