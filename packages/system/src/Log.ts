/**
 * The log of a server: events, and one line per request. It never contains secrets, and never makes the logged work
 * fail.
 */
import { LogFile } from './LogFile.js'
import * as LogLine from './LogLine.js'
import type { LogSink, LossReport, RequestFormatter } from './LogSink.js'
import { LogStream } from './LogStream.js'

export { type Fields, type Format, formats, type Level, levels, type RequestFields } from './LogLine.js'

/** Options of {@link Log}. */
export type LogOptions = {
  /** A file, which is created if missing, or an open descriptor, such as 2 for stderr. */
  to: string | number
  /** @default 'text' */
  format?: LogLine.Format | undefined
  /**
   * The least severe level that is written. Requests are `info`; refused and failed ones are more severe.
   * @default 'info'
   */
  level?: LogLine.Level | undefined
  /**
   * A longer file is renamed to `.old`, replacing the previous one.
   * @default 128 MiB
   */
  maxBytes?: number | undefined
}

/**
 * A log in a file or on a descriptor.
 *
 * Lines that cannot be written, such as on a full disk or to an unread pipe, are counted. The first line that can be
 * written again reports them.
 *
 * @example
 * const log = new Log({ to: 'server.log', format: 'json' })
 * const server = new Server({ fetch, onRequest: (record) => log.request(record) })
 * process.on('SIGHUP', () => log.reopen())
 */
export class Log {
  readonly #sink: LogSink
  #format: LogLine.Format
  #level: LogLine.Level
  #copy: Log | undefined

  /** @throws the error of the file system if the file cannot be opened. */
  constructor({ to, format = 'text', level = 'info', maxBytes }: LogOptions) {
    this.#format = format
    this.#level = level
    const report: LossReport = (loss) => LogLine.event(this.#format, 'error', lossText(loss))
    const formatRequest: RequestFormatter = (request, atMs) =>
      LogLine.request(this.#format, LogLine.levelOf(request), request, atMs)
    this.#sink =
      typeof to === 'string'
        ? new LogFile({ path: to, report, format: formatRequest, maxBytes })
        : new LogStream({ descriptor: to, report, format: formatRequest })
  }

  /** The number of lines that could not be written since the start. */
  get lostLines(): number {
    return this.#sink.lostLines
  }

  get level(): LogLine.Level {
    return this.#level
  }

  /** Changes the format and the level of later lines. */
  configure({ format, level }: Pick<LogOptions, 'format' | 'level'>): void {
    // Waiting lines keep the previous settings.
    this.#sink.flush()
    this.#format = format ?? this.#format
    this.#level = level ?? this.#level
  }

  /** Also writes everything to another log, such as one on the terminal, which has its own format and level. */
  copyTo(log: Log): void {
    this.#copy = log
  }

  /** Writes an event, immediately if the log is a file. */
  write(level: LogLine.Level, message: string, fields?: LogLine.Fields): void {
    this.#copy?.write(level, message, fields)
    if (!LogLine.isAtLeast(level, this.#level)) return
    this.#sink.append(LogLine.event(this.#format, level, message, fields))
    this.#sink.flush()
  }

  /** Writes a finished request, within a tenth of a second. */
  request(request: LogLine.RequestFields): void {
    this.#copy?.request(request)
    if (LogLine.isAtLeast(LogLine.levelOf(request), this.#level)) this.#sink.appendRequest(request)
  }

  /** Reopens the file by its name, after logrotate or a person has renamed it. */
  reopen(): void {
    this.#sink.reopen()
  }

  /** Writes the waiting lines and closes the file immediately. On a descriptor, waits up to a second for its reader. */
  async close(): Promise<void> {
    await Promise.all([this.#sink.close(), this.#copy?.close()])
  }
}

function lossText({ lines, since, reason }: Parameters<LossReport>[0]): string {
  if (lines === 0) return `the log could not be reopened, and continues in the old file: ${reason}`
  const count = lines === 1 ? 'a line' : `${lines} lines`
  return `${count} of this log could not be written since ${since}: ${reason}`
}
