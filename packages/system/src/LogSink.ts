/** The destination of log lines, and the count of lost lines. */
import type { RequestFields } from './LogLine.js'

/** Formats the line of a request that finished at `atMs`. */
export type RequestFormatter = (request: RequestFields, atMs: number) => string

/** Accepts whole lines. Nothing here throws or blocks: a log must not fail or delay the work that it describes. */
export type LogSink = {
  /** The number of lines lost since the start. */
  readonly lostLines: number
  /** Accepts a line, which ends with a line break. It may be written slightly later. */
  append(line: string): void
  /** Accepts a request that has just finished. Its line may be formatted slightly later. */
  appendRequest(request: RequestFields): void
  /** Writes the waiting lines, as far as possible without blocking. */
  flush(): void
  /** Starts a new file at the path, after a program such as logrotate has moved the old one. */
  reopen(): void
  /** Writes the waiting lines and closes. Resolves immediately for a file. */
  close(): Promise<void>
}

/** Formats the line that reports lost lines. */
export type LossReport = (loss: { lines: number; since: string; reason: string }) => string

/** Counts lost lines until their report is written. */
export class Losses {
  readonly #report: LossReport
  #total = 0
  #unreported = 0
  #since = ''
  #reason = ''

  constructor(report: LossReport) {
    this.#report = report
  }

  get total(): number {
    return this.#total
  }

  /** The line to write before the next one, or empty if there is nothing to report. */
  get report(): string {
    if (this.#unreported === 0) return ''
    return this.#report({ lines: this.#unreported, since: this.#since, reason: this.#reason })
  }

  reported(): void {
    this.#unreported = 0
  }

  add(lines: number, reason: string): void {
    if (lines === 0) return
    if (this.#unreported === 0) this.#since = new Date().toISOString()
    this.#total += lines
    this.#unreported += lines
    this.#reason = reason
  }
}

export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EPIPE') return 'its reader has closed the pipe'
  if (code === 'EAGAIN') return 'its reader is too slow'
  return code === 'ENOSPC' ? 'the disk is full' : message
}
