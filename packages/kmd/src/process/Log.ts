/**
 * kmd.log: events and requests, one line each. The text format is the Go daemon's. Secrets are never logged: a request
 * is logged with its operation's path, never with its content.
 */
import { join } from 'node:path'
import * as SystemLog from '@latchkey/system/log'

export const fileName = 'kmd.log'

export type { Level } from '@latchkey/system/log'
/** The format and minimum level of kmd.log. */
export type LogSettings = Pick<SystemLog.LogOptions, 'format' | 'level'>

/** Writing never throws, because a full disk must not fail the request, token change or stop being logged. */
export class Log extends SystemLog.Log {
  constructor(dataDir: string, settings: LogSettings = {}) {
    super({ to: join(dataDir, fileName), ...settings })
  }
}

/** Formats an error and its cause as one log line. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`
}
