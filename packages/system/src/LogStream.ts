/**
 * A log on an open descriptor, such as stderr: a terminal, a pipe or the socket of a service manager. Its reader may be
 * slow or stop reading indefinitely, as a terminal does on Ctrl-S. `process.stderr` would then block the whole program.
 * Here nothing blocks, and the data kept for the reader is limited.
 */
import { closeSync, constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import type { RequestFields } from './LogLine.js'
import { type LogSink, Losses, type LossReport, type RequestFormatter, reasonOf } from './LogSink.js'

export type LogStreamOptions = {
  descriptor: number
  report: LossReport
  format: RequestFormatter
  /**
   * How many bytes may wait for the reader.
   * @default 1 MiB
   */
  maxBytes?: number | undefined
  /**
   * How long `close` waits for the reader.
   * @default 1_000
   */
  closeMs?: number | undefined
}

/** The delay before a slow reader is tried again. */
const retryMs = 50

export class LogStream implements LogSink {
  readonly #options: Required<{ [name in keyof LogStreamOptions]: NonNullable<LogStreamOptions[name]> }>
  readonly #losses: Losses
  #lines: string[] = []
  #bytes = 0
  #isWriting = false
  #isClosed = false
  #onIdle: (() => void) | undefined
  /** Undefined if only a separate thread can write without blocking the others. */
  readonly #direct: number | undefined

  constructor({ descriptor, report, format, maxBytes = 1024 * 1024, closeMs = 1_000 }: LogStreamOptions) {
    this.#options = { descriptor, report, format, maxBytes, closeMs }
    this.#losses = new Losses(report)
    this.#direct = openDirect(descriptor)
  }

  get lostLines(): number {
    return this.#losses.total
  }

  append(line: string): void {
    if (this.#isClosed || this.#bytes + line.length > this.#options.maxBytes) {
      this.#losses.add(1, 'its reader is too slow')
      return
    }
    this.#lines.push(line)
    this.#bytes += line.length
    this.flush()
  }

  /** Written immediately, because a person may be watching. */
  appendRequest(request: RequestFields): void {
    this.append(this.#options.format(request, Date.now()))
  }

  flush(): void {
    if (this.#isWriting || this.#lines.length === 0) return
    const lines = this.#lines
    const report = this.#losses.report
    this.#lines = []
    this.#bytes = 0
    this.#losses.reported()
    this.#isWriting = true
    this.#write(Buffer.from(report + lines.join('')), 0, lines.length)
  }

  /** A descriptor has no name to reopen. */
  reopen(): void {}

  async close(): Promise<void> {
    this.flush()
    if (this.#isWriting) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#options.closeMs)
        this.#onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#isClosed = true
    if (this.#direct !== undefined && this.#direct !== this.#options.descriptor) closeSync(this.#direct)
  }

  #write(bytes: Buffer, offset: number, lines: number): void {
    const done = (error: NodeJS.ErrnoException | null, written: number): void => {
      if (error?.code === 'EAGAIN') setTimeout(() => this.#write(bytes, offset, lines), retryMs).unref()
      else if (error === null && offset + written < bytes.length) this.#write(bytes, offset + written, lines)
      else this.#finish(error, lines)
    }
    if (this.#isClosed) this.#finish(new Error('it is closed'), lines)
    else if (this.#direct === undefined) write(this.#options.descriptor, bytes, offset, undefined, null, done)
    else done(...writeNow(this.#direct, bytes, offset))
  }

  #finish(error: Error | null, lines: number): void {
    if (error !== null) this.#losses.add(lines, reasonOf(error))
    this.#isWriting = false
    if (!this.#isClosed) this.flush()
    if (!this.#isWriting) this.#onIdle?.()
  }
}

type WriteResult = [error: NodeJS.ErrnoException | null, written: number]

function writeNow(descriptor: number, bytes: Buffer, offset: number): WriteResult {
  try {
    return [null, writeSync(descriptor, bytes, offset)]
  } catch (error) {
    return [error as NodeJS.ErrnoException, 0]
  }
}

/**
 * Returns a descriptor on which writes never block: that of a file, or the same pipe or terminal reopened as
 * non-blocking. Changing the mode of the given descriptor would affect the programs that share it, such as the shell.
 */
function openDirect(descriptor: number): number | undefined {
  try {
    const status = fstatSync(descriptor)
    if (status.isFile()) return descriptor
    if (process.platform !== 'linux' || !(status.isFIFO() || status.isCharacterDevice())) return undefined
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return undefined
  }
}
