/** The log of a server: its options, and where it goes. */
import { type Format, formats, type Level, Log, levels } from '@latchkey/system/log'
import type { Option } from './Command.js'
import { CommandError } from './errors.js'

/** The options of every server. */
export const logOptions = {
  'log-format': {
    type: 'string',
    choices: formats,
    description: 'form of the log: text (the default on a terminal) or json (the default elsewhere)',
  },
  'log-level': {
    type: 'string',
    choices: levels,
    description:
      'least severe lines of the log: debug, info (the default, with a line for each request), warning or error',
  },
} as const satisfies { [name: string]: Option }

/** Those of servers whose log goes to stderr. */
export const logFileOptions = {
  ...logOptions,
  'log-file': {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'write the log to FILE instead of stderr; SIGHUP opens it again',
  },
} as const satisfies { [name: string]: Option }

export type LogValues = {
  readonly 'log-format'?: string | undefined
  readonly 'log-level'?: string | undefined
  readonly 'log-file'?: string | undefined
}

export type GivenLog = { readonly format: Format | undefined; readonly level: Level | undefined }

/** What the options say; undefined where they say nothing. The parser has checked them. */
export function readLogOptions(options: LogValues): GivenLog {
  return {
    format: options['log-format'] as Format | undefined,
    level: options['log-level'] as Level | undefined,
  }
}

const stderr = 2

/** Opens the log that the options name, on stderr by default: text on a terminal, JSON for programs that collect it. */
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

/** The log on the terminal of a server that has another one in a file; undefined without a terminal. */
export function openTerminalLog({ level }: GivenLog): Log | undefined {
  return process.stderr.isTTY ? new Log({ to: stderr, format: 'text', level }) : undefined
}

function terminalFormat(): Format {
  return process.stderr.isTTY ? 'text' : 'json'
}
