import { VisibleText } from '@latchkey/algorand'

/** The default of `onError`: a process warning, or a console warning if there is no process. */
export function warn(error: unknown): void {
  const warning = printable(error instanceof Error ? error : new Error(String(error)))
  if (typeof globalThis.process?.emitWarning === 'function') globalThis.process.emitWarning(warning)
  else console.warn(warning)
}

/** Messages quote nodes and facilitators, which must not add lines to the log or control a terminal. */
function printable(error: Error): Error {
  const message = VisibleText.replaceHidden(error.message, '?')
  if (message === error.message) return error
  const shown = new Error(message)
  shown.name = error.name
  return shown
}
