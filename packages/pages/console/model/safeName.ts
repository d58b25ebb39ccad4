import { VisibleText } from '@latchkey/algorand'

/** Programs choose names: one must not reorder the text around it, or look like another by what cannot be seen. */
export function safeName(name: string): string {
  return VisibleText.replaceHidden(name)
}
