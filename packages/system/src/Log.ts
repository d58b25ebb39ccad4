/** The log of a server: events, and one line for each request. It never gets secrets, and never fails what it is about. */
import { LogFile } from './LogFile.js'
import * as LogLine from './LogLine.js'
import type { LogSink, LossReport, RequestFormatter } from './LogSink.js'
import { LogStream } from './LogStream.js'

export { type Fields, type Format, formats, type Level, levels, type RequestFields } from './LogLine.js'

/** Options of {@link Log}. */
export type LogOptions = {
  /**
   * A file, which is created if it is missing, or an open descriptor, such as 2 for stderr.
   */
  to: string | number
  /** @default 'text' */
  format?: LogLine.Format | undefined
  /**
   * The least severe lines that are written. Requests are `info`; those that were refused or failed are more.
   * @default 'info'
   */
  level?: LogLine.Level | undefined
  /**
   * A longer file is renamed to `.old`, in the place of the one before.
   * @default 128 MiB
   */
  maxBytes?: number | undefined
}

/**
 * A log in a file or on a descriptor.
 *
 * Lines that cannot be written, as on a full disk or to a pipe that is not read, are counted, and reported by the first line
 * that can be written again.
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

  /** How many lines could not be written since the start. */
  get lostLines(): number {
    return this.#sink.lostLines
  }

  get level(): LogLine.Level {
    return this.#level
  }

  /** Changes the form and the least level of what is written from now on. */
  configure({ format, level }: Pick<LogOptions, 'format' | 'level'>): void {
    // What waits is of before.
    this.#sink.flush()
    this.#format = format ?? this.#format
    this.#level = level ?? this.#level
  }

  /** Writes everything to another log too, such as one on the terminal, which has a form and a level of its own. */
  copyTo(log: Log): void {
    this.#copy = log
  }

  /** Writes an event, at once if it goes to a file. */
  write(level: LogLine.Level, message: string, fields?: LogLine.Fields): void {
    this.#copy?.write(level, message, fields)
    if (!LogLine.isAtLeast(level, this.#level)) return
    this.#sink.append(LogLine.event(this.#format, level, message, fields))
    this.#sink.flush()
  }

  /** Writes a request that is over, within a tenth of a second. */
  request(request: LogLine.RequestFields): void {
    this.#copy?.request(request)
    if (LogLine.isAtLeast(LogLine.levelOf(request), this.#level)) this.#sink.appendRequest(request)
  }

  /** Opens the file by its name again, after logrotate or a person has renamed it. */
  reopen(): void {
    this.#sink.reopen()
  }

  /** Writes what is waiting and closes the file, at once; on a descriptor, waits a second for its reader. */
  async close(): Promise<void> {
    await Promise.all([this.#sink.close(), this.#copy?.close()])
  }
}

function lossText({ lines, since, reason }: Parameters<LossReport>[0]): string {
  if (lines === 0) return `the log could not be opened again, and goes on where it was: ${reason}`
  const count = lines === 1 ? 'a line' : `${lines} lines`
  return `${count} of this log could not be written since ${since}: ${reason}`
}
