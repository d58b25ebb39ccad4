/**
 * The only place that writes messages to stderr. Parts of a message can be from outside, such as the text of a node, so
 * each message is one line without control characters.
 */
import { explained } from './explained.js'
import { printable } from './format.js'

/** Writes a line to stderr. */
export function printMessage(text: string): void {
  process.stderr.write(`${printable(text)}\n`)
}

export function printWarning(text: string): void {
  printMessage(`warning: ${text}`)
}

/** Reports an error of a command that continues, such as a server. */
export function printError(command: string, error: unknown): void {
  printMessage(`latchkey ${command}: ${describe(error)}`)
}

/** What happened and what to do, in one line. */
export function describe(error: unknown): string {
  const { message, hint } = explained(error)
  return withHint(message, hint)
}

export function withHint(text: string, hint: string | undefined): string {
  if (hint === undefined || hint === '') return text
  if (/[.?!]$/.test(text)) return `${text} ${hint}`
  return /^[A-Z]/.test(hint) ? `${text}. ${hint}` : `${text}; ${hint}`
}
