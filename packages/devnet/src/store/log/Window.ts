/** A file of any size, looked at piece by piece. */
import type { FileHandle } from 'node:fs/promises'

const pieceBytes = 1024 * 1024

export class Window {
  readonly #handle: FileHandle
  readonly size: number
  #bytes = Buffer.alloc(0)
  #start = 0

  constructor(handle: FileHandle, size: number) {
    this.#handle = handle
    this.size = size
  }

  /** Whether these bytes can be viewed now; asked first, since nearly always they can, and waiting takes its time. */
  has(offset: number, length: number): boolean {
    return offset >= this.#start && offset + length <= this.#start + this.#bytes.length
  }

  /** Makes these bytes, all of which must be in the file, ready to be viewed; and with them what follows. */
  async load(offset: number, length: number): Promise<void> {
    const bytes = Buffer.allocUnsafe(Math.min(Math.max(length, pieceBytes), this.size - offset))
    let done = 0
    while (done < bytes.length) {
      const { bytesRead } = await this.#handle.read(bytes, done, bytes.length - done, offset + done)
      if (bytesRead === 0) throw new Error('the file became shorter while it was read')
      done += bytesRead
    }
    this.#bytes = bytes
    this.#start = offset
  }

  uint32(offset: number): number {
    return this.#bytes.readUInt32BE(offset - this.#start)
  }

  /** Valid until something else is loaded. */
  view(offset: number, length: number): Buffer {
    return this.#bytes.subarray(offset - this.#start, offset - this.#start + length)
  }
}
