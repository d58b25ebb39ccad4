/**
 * Reads secrets as lines of a file or an open descriptor. It reads byte by byte and never beyond the line, so that
 * several secrets can come from one descriptor one after the other.
 */
import { closeSync, openSync, readSync } from 'node:fs'

const maxLineBytes = 65_536
const lineFeed = 0x0a
const carriageReturn = 0x0d

export type LineReader = {
  /** The name used in messages. */
  readonly name: string
  /** Returns the next line without its line break, or undefined at the end. */
  readonly readLine: () => Uint8Array | undefined
  readonly close: () => void
}

export function openFile(path: string): LineReader {
  const descriptor = openSync(path, 'r')
  return { name: path, readLine: () => readLine(descriptor), close: () => closeSync(descriptor) }
}

/** `close` leaves the descriptor open, because it belongs to the caller. */
export function openDescriptor(descriptor: number): LineReader {
  return { name: `descriptor ${descriptor}`, readLine: () => readLine(descriptor), close: () => {} }
}

function readLine(descriptor: number): Uint8Array | undefined {
  const bytes = Buffer.alloc(maxLineBytes)
  let length = 0
  try {
    for (;;) {
      if (length === maxLineBytes) throw new RangeError(`no line end within ${maxLineBytes} bytes`)
      if (readByte(descriptor, bytes, length) === 0) {
        if (length === 0) return undefined
        break
      }
      if (bytes[length] === lineFeed) break
      length++
    }
    if (length > 0 && bytes[length - 1] === carriageReturn) length--
    return new Uint8Array(bytes.subarray(0, length))
  } finally {
    bytes.fill(0)
  }
}

/** Blocks even if the descriptor is in non-blocking mode. */
function readByte(descriptor: number, bytes: Buffer, at: number): number {
  for (;;) {
    try {
      return readSync(descriptor, bytes, at, 1, null)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EOF') return 0
      if (code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}
