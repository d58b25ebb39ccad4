/** Where the lines of a log go, and what is kept about those that did not get there. */
import type { RequestFields } from './LogLine.js'

/** Makes the line of a request that was over at `atMs`. */
export type RequestFormatter = (request: RequestFields, atMs: number) => string

/** Takes whole lines. Nothing here throws, and nothing waits: a log must not fail or hold up what it is about. */
export type LogSink = {
  /** How many lines were lost since the start. */
  readonly lostLines: number
  /** Takes a line, which ends with a line break. It may be written a little later. */
  append(line: string): void
  /** Takes a request that is over now. Its line may be made a little later. */
  appendRequest(request: RequestFields): void
  /** Writes what is waiting, as far as that can be done without waiting. */
  flush(): void
  /** Starts again with the file of that name, after a program such as logrotate has moved it away. */
  reopen(): void
  /** Writes what is waiting and closes. Resolves at once for a file. */
  close(): Promise<void>
}

/** Makes the line that reports lost ones. */
export type LossReport = (loss: { lines: number; since: string; reason: string }) => string

/** Counts lines that were lost, until the report of them is written. */
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

  /** The line to write before the next one; blank if there is nothing to report. */
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
