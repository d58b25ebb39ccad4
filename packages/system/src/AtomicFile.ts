/** Files that are there whole or not at all, also when the power fails, and for their owner alone. */
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

export type Replacement = {
  path: string
  /** In the same directory; nobody else may use it at the same time. */
  temporaryPath: string
  parts: readonly Uint8Array[]
}

/** Puts a file in the place of what is there, if anything; it stays open for more to be written. */
export async function replace({ path, temporaryPath, parts }: Replacement): Promise<FileHandle> {
  await rm(temporaryPath, { force: true })
  const handle = await open(temporaryPath, 'wx+', 0o600)
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

/** Makes sure that the names in the file's directory are on the disk. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(dirname(path), 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** All of the bytes, or an error; tells where they end. */
export async function writeAt(handle: FileHandle, bytes: Uint8Array, position: number): Promise<number> {
  let done = 0
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done)
    if (bytesWritten === 0) throw new Error('nothing more can be written')
    done += bytesWritten
  }
  return position + done
}

/** Replaces a file in one step, synchronously: a reader sees the old content or the new, never a part. */
export function replaceSync(path: string, content: string | Uint8Array, mode = 0o600): void {
  const temporary = `${path}.new`
  const descriptor = openSync(temporary, 'w', mode)
  try {
    writeFileSync(descriptor, content)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(temporary, path)
}
