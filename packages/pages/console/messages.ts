/** Error texts for people. */
import { ConsoleError, DaemonError, hasCode } from './errors.js'

/** Returns the text to show next to the failed action, or undefined if the whole page shows the error. */
export function errorMessage(error: unknown): string | undefined {
  if (hasCode(error, 'session_ended', 'wallet_locked')) return undefined
  if (error instanceof ConsoleError) return `${error.message} ${error.hint}`
  const message = toSentence(error instanceof Error ? error.message : String(error))
  if (!(error instanceof DaemonError) || error.retryAfterSeconds === undefined) return message
  return `${message} Try again in ${Math.ceil(error.retryAfterSeconds)} s.`
}

/** Adds a capital letter and a full stop. */
export function toSentence(text: string): string {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}
