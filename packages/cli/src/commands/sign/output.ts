/** Writes the signed result to a file or to stdout. */
import { lstatSync, writeFileSync } from 'node:fs'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { CommandError } from '../../errors.js'
import { printBytes, printLine } from '../../messages.js'

export function toFile(file: string, bytes: Uint8Array): void {
  try {
    // Replaces the file atomically, because it may be the input file. The temporary name must not clash with others.
    if (isReplaceable(file)) AtomicFile.replaceSync(file, bytes, 0o600, `${file}.${process.pid}.tmp`)
    else writeFileSync(file, bytes)
  } catch (cause) {
    throw new CommandError('file_unwritable', `the result cannot be written: ${(cause as Error).message}`, { cause })
  }
}

/** Writes raw bytes for programs, base64 for a terminal. */
export async function toStdout(bytes: Uint8Array): Promise<void> {
  if (process.stdout.isTTY) printLine(Buffer.from(bytes).toString('base64'))
  else await printBytes(bytes)
}

/** Devices and named pipes are written to, not replaced. */
function isReplaceable(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false })
  return found === undefined || found.isFile()
}
