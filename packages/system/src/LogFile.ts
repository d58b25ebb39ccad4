/**
 * A log in a file. Lines are collected briefly and written together. Each write appends whole lines (`O_APPEND`), so
 * the file can be renamed, truncated or read at any time.
 *
 * Writes are synchronous: writing to a file is a copy into the memory of the kernel, and for a batch of lines it costs
 * less than handing it to another thread.
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
   * A longer file is renamed to `.old`, replacing the previous one, and a new one is started.
   * @default 128 MiB
   */
  maxBytes?: number | undefined
}

const flushAfterMs = 100
/** Waiting lines are kept as bytes. As strings they would cost the garbage collector more than writing them. */
const flushBytes = 32 * 1024
/**
 * Request lines are formatted in batches. Formatting each between two requests would cost a daemon three times as much.
 */
const maxRequests = 128
/** The maximum number of UTF-8 bytes per string unit. */
const maxUnitBytes = 3
const copiedUnits = 4 * 1024
const newline = 0x0a
const defaultMaxBytes = 128 * 1024 * 1024
/** Opening a pipe without a reader fails immediately, and so does writing to a full one. */
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK

/** Files with waiting lines, because the process may exit in between. */
const waiting = new Set<LogFile>()
let isExitWatched = false

export class LogFile implements LogSink {
  readonly #options: LogFileOptions
  readonly #losses: Losses
  #descriptor: number
  readonly #buffer = Buffer.allocUnsafe(flushBytes)
  /** The number of waiting bytes in the buffer, and of their lines. */
  #bytes = 0
  #lines = 0
  /** Requests whose lines are not formatted yet, and when they finished. */
  #requests: RequestFields[] = []
  #times: number[] = []
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** Whether the file ends with an incomplete line. */
  #isCut = false
  /** The bytes written since the size of the file was last checked. */
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
    // Cleared before the first write: a file that is too long is reopened within a write, which flushes.
    this.#requests = []
    this.#times = []
    let text = ''
    let lines = 0
    for (let at = 0; at < requests.length; at++) {
      text += format(requests[at]!, times[at]!)
      lines++
      // Copied in batches, because copying each line costs as much as formatting it.
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
    // If the file cannot be reopened, the old one reports it with another flush.
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

  /** When a disk fills up, the last write is only partial. */
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

  /** Only limits the file that is still at its path. If logrotate has moved it, logrotate also triggers a reopen. */
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
      // An overlong file is no reason to lose lines.
    }
    // Does not retry on every line, because the next attempt may fail too.
    this.#unchecked = Math.min(this.#unchecked, this.#maxBytes - Math.floor(this.#maxBytes / 16))
  }
}

/** The number of lines that end within the first `bytes` bytes. */
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
