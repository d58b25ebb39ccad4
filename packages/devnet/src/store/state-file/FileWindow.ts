/** Reads a file of any size piece by piece. */
import type { FileHandle } from 'node:fs/promises'

const pieceBytes = 1024 * 1024

export class FileWindow {
  readonly #handle: FileHandle
  readonly size: number
  #bytes = Buffer.alloc(0)
  #start = 0

  constructor(handle: FileHandle, size: number) {
    this.#handle = handle
    this.size = size
  }

  /** Whether these bytes are loaded. Checked before `load`, because an await would cost more than most reads. */
  has(offset: number, length: number): boolean {
    return offset >= this.#start && offset + length <= this.#start + this.#bytes.length
  }

  /** Loads these bytes, all of which must be in the file, and the following ones. */
  async load(offset: number, length: number): Promise<void> {
    const bytes = Buffer.allocUnsafe(Math.min(Math.max(length, pieceBytes), this.size - offset))
    let done = 0
    while (done < bytes.length) {
      const { bytesRead } = await this.#handle.read(bytes, done, bytes.length - done, offset + done)
      if (bytesRead === 0) throw new Error('the file was truncated while it was read')
      done += bytesRead
    }
    this.#bytes = bytes
    this.#start = offset
  }

  uint32(offset: number): number {
    return this.#bytes.readUInt32BE(offset - this.#start)
  }

  /** Valid until the next `load`. */
  view(offset: number, length: number): Buffer {
    return this.#bytes.subarray(offset - this.#start, offset - this.#start + length)
  }
}
