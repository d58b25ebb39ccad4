/** kmd.log: one line per event, in the format of the Go daemon. It never gets secrets. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export const fileName = 'kmd.log'

export type Level = 'info' | 'warning' | 'error'

/**
 * Writing never throws: a full disk must not fail the request, the token change or the stop that a line is about. Lines
 * that were lost are counted, and reported by the first line that can be written again.
 */
export class Log {
  readonly #descriptor: number
  /** Lines lost in all, and since the last report. */
  #lost = 0
  #unreported = 0
  #lostSince = ''
  #reason = ''
  /** Whether the file ends within a line. */
  #isCut = false

  constructor(dataDir: string) {
    this.#descriptor = openSync(join(dataDir, fileName), 'a', 0o640)
  }

  /** How many lines could not be written since the start. */
  get lostLines(): number {
    return this.#lost
  }

  write(level: Level, message: string): void {
    const time = now()
    if (this.#write(`${this.#report(time)}${line(time, level, message)}`)) this.#unreported = 0
    else this.#lose(time)
  }

  /** Closes the file. Lines that were lost and not reported yet are reported, if the disk has room by now. */
  close(): void {
    if (this.#unreported > 0) this.#write(this.#report(now()))
    closeSync(this.#descriptor)
  }

  #report(time: string): string {
    if (this.#unreported === 0) return ''
    const lines = this.#unreported === 1 ? 'a line' : `${this.#unreported} lines`
    return line(time, 'error', `${lines} of this log could not be written since ${this.#lostSince}: ${this.#reason}`)
  }

  #lose(time: string): void {
    this.#lost++
    if (this.#unreported++ === 0) this.#lostSince = time
  }

  /** Whether all of the text was written. Of a disk that fills up, the last write gets a part. */
  #write(text: string): boolean {
    const bytes = Buffer.from(this.#isCut ? `\n${text}` : text)
    try {
      const written = writeSync(this.#descriptor, bytes)
      if (written > 0) this.#isCut = bytes[written - 1] !== 0x0a
      if (written === bytes.length) return true
      this.#reason = 'the disk is full'
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      this.#reason = code === 'ENOSPC' ? 'the disk is full' : message
    }
    return false
  }
}

function now(): string {
  return new Date().toISOString().replace(/\.(\d{3})Z$/, '.$1000 +0000')
}

function line(time: string, level: Level, message: string): string {
  return `time="${time}" level=${level} msg=${quoted(message)}\n`
}

/** JSON escapes line breaks and ESC, but not the other characters that a terminal obeys: the log is read with `cat`. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  )
}
