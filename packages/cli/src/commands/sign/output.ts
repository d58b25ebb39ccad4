/** What was signed, written where it was asked for. */
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { CommandError } from '../../exitCodes.js'

export function toFile(file: string, bytes: Uint8Array): void {
  try {
    if (isReplaceable(file)) replace(file, bytes)
    else writeFileSync(file, bytes)
  } catch (error) {
    throw new CommandError('failed', `what was signed cannot be written: ${(error as Error).message}`)
  }
}

/** Raw for programs, base64 for the eyes. */
export async function toStdout(bytes: Uint8Array): Promise<void> {
  const output = process.stdout.isTTY ? `${Buffer.from(bytes).toString('base64')}\n` : bytes
  await new Promise<void>((resolve) => process.stdout.write(output, () => resolve()))
}

/** A device or a named pipe is written to, not replaced. */
function isReplaceable(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false })
  return found === undefined || found.isFile()
}

/** As a whole or not at all: the file may be the very one that was read. Whoever has it can send what it says. */
function replace(file: string, bytes: Uint8Array): void {
  const temporary = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, bytes, { mode: 0o600, flag: 'wx' })
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
