/** Text for a page: titles, units and addresses come from third parties. */
import { VisibleText } from '@latchkey/algorand'

const maxTextLength = 300

/** Limits the length, and replaces characters that cannot be seen. */
export function clip(text: string, length = maxTextLength): string {
  const visible = VisibleText.replaceHidden(text, ' ').trim()
  return visible.length > length ? `${visible.slice(0, length - 1)}…` : visible
}

export function escapeText(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** JSON for a script element: no character in it can end the element or change the writing direction. */
export function escapeJson(value: object): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
