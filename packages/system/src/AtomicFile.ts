/**
 * Atomic file replacement: a reader, or a program that starts after a crash, finds either the old content or the new,
 * never a part. The new content is written to a temporary file in the same directory, flushed to the disk and renamed.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LatchkeyError } from '@latchkey/algorand'
import { errors } from './errors.js'

const ownerOnly = 0o600

/** The options of {@link replace}. */
export type Replacement = {
  path: string
  /** In the same directory, and used by one writer at a time. A file left there by a crash is removed. */
  temporaryPath: string
  /** The content, written part by part. */
  parts: readonly Uint8Array[]
}

/**
 * Replaces a file and returns it open for reading and writing. Its mode is 0600. Call {@link syncDirectory} to make the
 * replacement survive a power failure.
 *
 * @throws AtomicFileError with the code `write_incomplete`, or the error of the file system. In both cases the old file
 * is unchanged and the temporary file removed.
 */
export async function replace({ path, temporaryPath, parts }: Replacement): Promise<FileHandle> {
  await rm(temporaryPath, { force: true })
  const handle = await open(temporaryPath, 'wx+', ownerOnly)
  try {
    let position = 0
    for (const part of parts) position = await writeAt(handle, part, position)
    await handle.sync()
    await rename(temporaryPath, path)
  } catch (error) {
    await handle.close()
    await rm(temporaryPath, { force: true })
    throw error
  }
  return handle
}

/** Flushes the names in the file's directory to the disk, if the file system supports it. */
export async function syncDirectory(path: string): Promise<void> {
  let directory: FileHandle | undefined
  try {
    directory = await open(dirname(path), 'r')
    await directory.sync()
  } catch (error) {
    ignoreUnsupported(error)
  } finally {
    await directory?.close()
  }
}

/**
 * Writes all of the bytes at a position and returns the position after them.
 *
 * @throws AtomicFileError with the code `write_incomplete`, or the error of the file system.
 */
export async function writeAt(handle: FileHandle, bytes: Uint8Array, position: number): Promise<number> {
  let done = 0
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done)
    if (bytesWritten === 0) throw new AtomicFileError('write_incomplete')
    done += bytesWritten
  }
  return position + done
}

/**
 * Replaces a file synchronously. Writers with the same temporary path must exclude each other.
 *
 * @default mode 0o600
 * @default temporaryPath `path` with `.new` appended
 * @throws the error of the file system. The old file is then unchanged and the temporary file removed, except for a
 * disk error while the directory is synced, which comes after the replacement.
 */
export function replaceSync(
  path: string,
  content: string | Uint8Array,
  mode = ownerOnly,
  temporaryPath = `${path}.new`,
): void {
  // A file left by a crash may have another mode.
  rmSync(temporaryPath, { force: true })
  createSync(temporaryPath, content, mode)
  try {
    renameSync(temporaryPath, path)
  } catch (error) {
    rmSync(temporaryPath, { force: true })
    throw error
  }
  syncDirectorySync(path)
}

/**
 * Creates a file and flushes its content to the disk.
 *
 * @default mode 0o600
 * @throws the error of the file system, such as for a file that exists. No file is left if its content could not be written.
 */
export function createSync(path: string, content: string | Uint8Array, mode = ownerOnly): void {
  const descriptor = openSync(path, 'wx', mode)
  try {
    writeFileSync(descriptor, content)
    fsyncSync(descriptor)
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
}

/** The synchronous {@link syncDirectory}. A created, renamed or removed file stays that way once this returns. */
export function syncDirectorySync(path: string): void {
  let descriptor: number | undefined
  try {
    descriptor = openSync(dirname(path), 'r')
    fsyncSync(descriptor)
  } catch (error) {
    ignoreUnsupported(error)
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** Errors of systems that cannot open or sync a directory. */
const unsupported = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EACCES', 'EPERM', 'EISDIR'])

function ignoreUnsupported(error: unknown): void {
  if (!unsupported.has((error as NodeJS.ErrnoException).code ?? '')) throw error
}

/** The file was not written. */
export class AtomicFileError extends LatchkeyError<'write_incomplete'> {
  override name = 'AtomicFileError'

  constructor(code: 'write_incomplete') {
    super(code, errors[code].message, { hint: errors[code].hint })
  }
}
