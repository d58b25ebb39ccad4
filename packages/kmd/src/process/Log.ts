/**
 * kmd.log: events and requests, one line each. As text it has the form of the Go daemon's. It never gets secrets: of a
 * request it has the operation's path, never what was sent.
 */
import { join } from 'node:path'
import * as SystemLog from '@latchkey/system/log'

export const fileName = 'kmd.log'

export type { Level } from '@latchkey/system/log'
/** Form and least level of kmd.log. */
export type LogSettings = Pick<SystemLog.LogOptions, 'format' | 'level'>

/** Writing never throws: a full disk must not fail the request, the token change or the stop that a line is about. */
export class Log extends SystemLog.Log {
  constructor(dataDir: string, settings: LogSettings = {}) {
    super({ to: join(dataDir, fileName), ...settings })
  }
}
