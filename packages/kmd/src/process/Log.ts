/** kmd.log: one line per event, in the format of the Go daemon. It never gets secrets. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export const fileName = 'kmd.log'

export type Level = 'info' | 'warning' | 'error'

export class Log {
  readonly #descriptor: number

  constructor(dataDir: string) {
    this.#descriptor = openSync(join(dataDir, fileName), 'a', 0o640)
  }

  write(level: Level, message: string): void {
    const time = new Date().toISOString().replace(/\.(\d{3})Z$/, '.$1000 +0000')
    writeSync(this.#descriptor, `time="${time}" level=${level} msg=${quoted(message)}\n`)
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

/** JSON escapes line breaks and ESC, but not the other characters that a terminal obeys: the log is read with `cat`. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  )
}
