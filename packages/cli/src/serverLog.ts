/** The log of a server: its options and its destination. */
import { type Format, formats, type Level, Log, levels } from '@latchkey/system/log'
import type { Option } from './Command.js'
import { CommandError } from './errors.js'

/** The options of every server. */
export const logOptions = {
  'log-format': {
    type: 'string',
    choices: formats,
    description: 'log format: text (the default on a terminal) or json (the default otherwise)',
  },
  'log-level': {
    type: 'string',
    choices: levels,
    description: 'minimum log level: debug, info (the default, which logs every request), warning or error',
  },
} as const satisfies { [name: string]: Option }

/** The options of servers that log to stderr. */
export const logFileOptions = {
  ...logOptions,
  'log-file': {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'write the log to FILE instead of stderr; SIGHUP reopens it',
  },
} as const satisfies { [name: string]: Option }

export type LogValues = {
  readonly 'log-format'?: string | undefined
  readonly 'log-level'?: string | undefined
  readonly 'log-file'?: string | undefined
}

export type GivenLog = { readonly format: Format | undefined; readonly level: Level | undefined }

/** Returns the given options, undefined where none is given. The parser has validated them. */
export function readLogOptions(options: LogValues): GivenLog {
  return {
    format: options['log-format'] as Format | undefined,
    level: options['log-level'] as Level | undefined,
  }
}

const stderr = 2

/** Opens the log named by the options, on stderr by default: text on a terminal, JSON for log collectors. */
export function openServerLog(options: LogValues): Log {
  const { format, level } = readLogOptions(options)
  const file = options['log-file']
  if (file === undefined) return new Log({ to: stderr, format: format ?? terminalFormat(), level })
  try {
    return new Log({ to: file, format: format ?? 'json', level })
  } catch (cause) {
    const message = `the log cannot be written: ${(cause as Error).message}`
    throw new CommandError('file_unwritable', message, { cause })
  }
}

/** Opens the terminal log of a server that also logs to a file. Returns undefined without a terminal. */
export function openTerminalLog({ level }: GivenLog): Log | undefined {
  return process.stderr.isTTY ? new Log({ to: stderr, format: 'text', level }) : undefined
}

function terminalFormat(): Format {
  return process.stderr.isTTY ? 'text' : 'json'
}
