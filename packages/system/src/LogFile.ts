/**
 * A log in a file. Lines are collected for a moment and written together, each write whole lines at the end of the file
 * (`O_APPEND`), so that the file can be renamed, truncated or read at any time.
 *
 * Writes are synchronous: one to a file is a copy into the memory of the kernel, and for a batch of lines it costs less
 * than handing it to another thread.
 */
import { closeSync, constants, fstatSync, openSync, renameSync, type Stats, statSync, writeSync } from 'node:fs'
import type { RequestFields } from './LogLine.js'
import { type LogSink, Losses, type LossReport, type RequestFormatter, reasonOf } from './LogSink.js'

export type LogFileOptions = {
  path: string
  report: LossReport
  format: RequestFormatter
  /** @default 0o640 */
  mode?: number | undefined
  /**
   * A longer file is renamed to `.old`, in the place of the one before, and a new one begun.
   * @default 128 MiB
   */
  maxBytes?: number | undefined
}

const flushAfterMs = 100
/** What waits is kept as bytes: as strings in pieces, it would cost the garbage collector more than writing it. */
const flushBytes = 32 * 1024
/**
 * Lines of requests are made together: one by one, each between two requests, they would cost a daemon three times as much.
 */
const maxRequests = 128
/** Of UTF-8 for each unit of a string. */
const maxUnitBytes = 3
const copiedUnits = 4 * 1024
const newline = 0x0a
const defaultMaxBytes = 128 * 1024 * 1024
/** Opening a pipe that no program reads fails at once, and writing to a full one does too. */
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK

/** Those with lines that wait: the process may end in between. */
const waiting = new Set<LogFile>()
let isExitWatched = false

export class LogFile implements LogSink {
  readonly #options: LogFileOptions
  readonly #losses: Losses
  #descriptor: number
  readonly #buffer = Buffer.allocUnsafe(flushBytes)
  /** How much of the buffer waits, and in how many lines. */
  #bytes = 0
  #lines = 0
  /** Requests whose lines are not made yet, and when they were over. */
  #requests: RequestFields[] = []
  #times: number[] = []
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** Whether the file ends within a line. */
  #isCut = false
  /** Written since the size of the file was last looked at. */
  #unchecked = 0
  #isLimiting = false

  /** @throws the error of the file system if the file cannot be opened. */
  constructor(options: LogFileOptions) {
    this.#options = options
    this.#losses = new Losses(options.report)
    this.#descriptor = this.#open()
    this.#unchecked = fstatSync(this.#descriptor).size
    if (!isExitWatched) process.on('exit', flushAll)
    isExitWatched = true
  }

  get lostLines(): number {
    return this.#losses.total
  }

  appendRequest(request: RequestFields): void {
    if (this.#isClosed) {
      this.#losses.add(1, 'it is closed')
      return
    }
    this.#requests.push(request)
    this.#times.push(Date.now())
    if (this.#requests.length >= maxRequests) this.#appendRequests()
    else this.#flushSoon()
  }

  append(line: string): void {
    if (this.#isClosed) {
      this.#losses.add(1, 'it is closed')
      return
    }
    this.#appendRequests()
    this.#append(line)
  }

  #appendRequests(): void {
    const { format } = this.#options
    const [requests, times] = [this.#requests, this.#times]
    if (requests.length === 0) return
    // Before the first is written: a file that has become too long is opened again within a write, which flushes.
    this.#requests = []
    this.#times = []
    let text = ''
    let lines = 0
    for (let at = 0; at < requests.length; at++) {
      text += format(requests[at]!, times[at]!)
      lines++
      // Copied together: a copy of each line costs as much as making it.
      if (text.length < copiedUnits) continue
      this.#append(text, lines)
      text = ''
      lines = 0
    }
    if (lines > 0) this.#append(text, lines)
  }

  #append(text: string, lines = 1): void {
    const longest = text.length * maxUnitBytes
    if (longest > flushBytes - this.#bytes) this.#writeBuffer()
    if (longest > flushBytes) {
      this.#write(Buffer.from(text), lines)
      return
    }
    this.#bytes += this.#buffer.write(text, this.#bytes)
    this.#lines += lines
    this.#flushSoon()
  }

  #flushSoon(): void {
    if (this.#timer !== undefined) return
    waiting.add(this)
    this.#timer = setTimeout(() => this.flush(), flushAfterMs).unref()
  }

  flush(): void {
    if (this.#isClosed) return
    this.#appendRequests()
    this.#writeBuffer()
  }

  #writeBuffer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    waiting.delete(this)
    const lines = this.#lines
    if (lines === 0 && this.#losses.report === '') return
    const bytes = this.#buffer.subarray(0, this.#bytes)
    this.#lines = 0
    this.#bytes = 0
    this.#write(bytes, lines)
    // A file that cannot be opened again is reported in the old one, by another flush.
    if (this.#unchecked <= this.#maxBytes || this.#isLimiting) return
    this.#isLimiting = true
    this.#limitSize()
    this.#isLimiting = false
  }

  reopen(): void {
    if (this.#isClosed) return
    this.flush()
    const old = this.#descriptor
    try {
      this.#descriptor = this.#open()
    } catch (error) {
      // The old file is better than none.
      this.append(this.#options.report({ lines: 0, since: '', reason: reasonOf(error) }))
      this.flush()
      return
    }
    this.#isCut &&= isSame(fstatSync(old), fstatSync(this.#descriptor))
    closeSync(old)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.flush()
    this.#isClosed = true
    closeSync(this.#descriptor)
  }

  get #maxBytes(): number {
    return this.#options.maxBytes ?? defaultMaxBytes
  }

  #open(): number {
    return openSync(this.#options.path, flags, this.#options.mode ?? 0o640)
  }

  /** Of a disk that fills up, the last write gets a part. */
  #write(lines: Buffer, count: number): void {
    const start = (this.#isCut ? '\n' : '') + this.#losses.report
    const head = Buffer.from(start)
    const bytes = start === '' ? lines : Buffer.concat([head, lines])
    let written = 0
    let reason = 'the disk is full'
    try {
      written = writeSync(this.#descriptor, bytes)
    } catch (error) {
      reason = reasonOf(error)
    }
    this.#unchecked += written
    if (written > 0) this.#isCut = bytes[written - 1] !== newline
    if (written > 0 && written >= head.length) this.#losses.reported()
    if (written < bytes.length) this.#losses.add(count - wholeLines(lines, written - head.length), reason)
  }

  /** Only the file that is still at its path: logrotate may have moved it, and then reopens it. */
  #limitSize(): void {
    const { path } = this.#options
    try {
      const status = fstatSync(this.#descriptor)
      this.#unchecked = status.size
      if (!status.isFile() || status.size <= this.#maxBytes) return
      const current = statSync(path, { throwIfNoEntry: false })
      if (current !== undefined && isSame(current, status)) renameSync(path, `${path}.old`)
      this.reopen()
      this.#unchecked = fstatSync(this.#descriptor).size
    } catch {
      // It is longer than it should be, which is no reason to lose lines.
    }
    // Not with every line: the next attempt may fail as this one did.
    this.#unchecked = Math.min(this.#unchecked, this.#maxBytes - Math.floor(this.#maxBytes / 16))
  }
}

/** How many lines end within the first so many bytes. */
function wholeLines(lines: Buffer, bytes: number): number {
  let count = 0
  for (let at = lines.indexOf(newline); at >= 0 && at < bytes; at = lines.indexOf(newline, at + 1)) count++
  return count
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev
}

function flushAll(): void {
  for (const file of waiting) file.flush()
}
