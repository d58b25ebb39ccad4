/**
 * Secrets as lines of a file or of an open descriptor. No byte beyond the line is taken, so that several secrets can
 * come from one descriptor, one after the other.
 */
import { closeSync, openSync, readSync } from 'node:fs'

const maxLineBytes = 65_536
const lineFeed = 0x0a
const carriageReturn = 0x0d

export type Input = {
  /** For messages. */
  readonly name: string
  /** Without its end, as editors and echo leave it there; undefined after the last one. */
  readonly line: () => Uint8Array | undefined
  readonly close: () => void
}

export function openFile(path: string): Input {
  const descriptor = openSync(path, 'r')
  return { name: path, line: () => readLine(descriptor), close: () => closeSync(descriptor) }
}

/** It stays open: it is not ours. */
export function openDescriptor(descriptor: number): Input {
  return { name: `descriptor ${descriptor}`, line: () => readLine(descriptor), close: () => {} }
}

function readLine(descriptor: number): Uint8Array | undefined {
  const bytes = Buffer.alloc(maxLineBytes)
  let length = 0
  try {
    for (;;) {
      if (length === maxLineBytes) throw new RangeError(`it has no line end within ${maxLineBytes} bytes`)
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

/** Waits also where the descriptor was left in a mode that does not. */
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
