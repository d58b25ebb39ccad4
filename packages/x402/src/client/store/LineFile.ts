/**
 * A file of lines that several processes append to, each under a lock of the caller. Lines are written completely or
 * not at all: a partial line left by a crash or a full disk is removed before the next one is written.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import * as AtomicFile from '@latchkey/system/atomic-file'

const newline = 0x0a
const ownerOnly = 0o600

export class LineFile {
  readonly #path: string
  /** The inode of the file that was read, and how many bytes of it were read, up to the end of a line. */
  #inode: bigint | undefined
  #offset = 0
  /**
   * The last line before the offset, because a new file can reuse the inode of a removed one, or be rewritten in place.
   */
  #lastLine: Uint8Array = new Uint8Array()

  constructor(path: string) {
    this.#path = path
    this.#makePrivate()
  }

  /**
   * Returns the complete lines since the last call. `isNew` means that the file was replaced, and these are all of its
   * lines.
   */
  read(): { lines: string[]; isNew: boolean } {
    const descriptor = this.#open(constants.O_RDONLY)
    // The content of a removed file stays in the memory of processes that read it.
    if (descriptor === undefined) return { lines: [], isNew: false }
    try {
      const isNew = !this.#isKnown(descriptor)
      if (isNew) this.#offset = 0
      const bytes = readFrom(descriptor, this.#offset)
      const end = bytes.lastIndexOf(newline) + 1
      const lines = bytes.subarray(0, end)
      this.#remember(descriptor, this.#offset + end, lines)
      return { lines: end === 0 ? [] : lines.toString('utf8', 0, end - 1).split('\n'), isNew }
    } finally {
      closeSync(descriptor)
    }
  }

  /** Makes the next call of `read` read the whole file again. */
  forget(): void {
    this.#inode = undefined
    this.#offset = 0
    this.#lastLine = new Uint8Array()
  }

  /** Removes a partial line at the end. */
  repair(): void {
    const descriptor = this.#open(constants.O_RDWR)
    if (descriptor === undefined) return
    try {
      const { size } = fstatSync(descriptor)
      const end = endOfLines(descriptor, size)
      if (end < size) ftruncateSync(descriptor, end)
    } finally {
      closeSync(descriptor)
    }
  }

  /** Appends a line, and returns when it is on the disk. After an error, no part of the line is in the file. */
  append(line: string): void {
    const descriptor = openSync(this.#path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, ownerOnly)
    try {
      const { size } = fstatSync(descriptor)
      const bytes = Buffer.from(line)
      try {
        for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done)
        fsyncSync(descriptor)
      } catch (error) {
        ftruncateSync(descriptor, size)
        throw error
      }
      // Written by this process, so it need not be read again.
      this.#remember(descriptor, size + bytes.length, bytes)
    } finally {
      closeSync(descriptor)
    }
  }

  /** Replaces the file atomically. */
  replace(content: string): void {
    AtomicFile.replaceSync(this.#path, content)
    const descriptor = openSync(this.#path, constants.O_RDONLY)
    try {
      const bytes = Buffer.from(content)
      this.#remember(descriptor, bytes.length, bytes)
    } finally {
      closeSync(descriptor)
    }
  }

  /** Whether this is the file that was read before, with the same content up to the offset. */
  #isKnown(descriptor: number): boolean {
    const { ino, size } = fstatSync(descriptor, { bigint: true })
    if (ino !== this.#inode || Number(size) < this.#offset) return false
    const found = Buffer.alloc(this.#lastLine.length)
    readSync(descriptor, found, 0, found.length, this.#offset - found.length)
    return found.equals(this.#lastLine)
  }

  /** @param lines complete lines up to the offset; empty if there are no new ones */
  #remember(descriptor: number, offset: number, lines: Buffer): void {
    this.#inode = fstatSync(descriptor, { bigint: true }).ino
    this.#offset = offset
    if (offset === 0) this.#lastLine = new Uint8Array()
    if (lines.length === 0) return
    const start = lines.length < 2 ? 0 : lines.lastIndexOf(newline, lines.length - 2) + 1
    // Copied, so that the rest of the memory can be freed.
    this.#lastLine = new Uint8Array(lines.subarray(start))
  }

  #open(flags: number): number | undefined {
    try {
      return openSync(this.#path, flags)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /**
   * A file of an earlier version, or a copied one, can be readable for others. Directories and devices keep their mode:
   * root owns /dev/null.
   */
  #makePrivate(): void {
    const descriptor = this.#open(constants.O_RDONLY)
    if (descriptor === undefined) return
    try {
      const status = fstatSync(descriptor)
      const isOwn = status.isFile() && status.uid === process.getuid?.()
      if (isOwn && (status.mode & 0o077) !== 0) fchmodSync(descriptor, ownerOnly)
    } finally {
      closeSync(descriptor)
    }
  }
}

/** Reads up to the size of the file, because a device may have no end. */
function readFrom(descriptor: number, start: number): Buffer {
  const bytes = Buffer.alloc(Math.max(0, fstatSync(descriptor).size - start))
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(descriptor, bytes, done, bytes.length - done, start + done)
    if (count === 0) return bytes.subarray(0, done)
    done += count
  }
  return bytes
}

/** The position after the last line break. */
function endOfLines(descriptor: number, size: number): number {
  const chunk = Buffer.alloc(64 * 1024)
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunk.length)
    const count = readSync(descriptor, chunk, 0, end - start, start)
    const last = chunk.subarray(0, count).lastIndexOf(newline)
    if (last >= 0) return start + last + 1
    end = start
  }
  return 0
}
