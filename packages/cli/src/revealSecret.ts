/** Shows a secret on a terminal after a confirmation, or writes it to a new file or, with --yes, to a pipe. */
import { closeSync, existsSync, fchmodSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs'
import type { Option } from './Command.js'
import { CommandError, UsageError } from './errors.js'
import { printJson, printLine, printMessage, printResult } from './messages.js'
import { confirm, hasTerminal, requireConfirmation } from './prompt.js'

export const revealOptions = {
  out: {
    type: 'string',
    short: 'o',
    placeholder: 'FILE',
    completes: 'file',
    description: 'write the secret to this new file, readable by its owner only, and show nothing',
  },
  yes: {
    type: 'boolean',
    short: 'y',
    description: 'show the secret without confirmation, even if stdout is not a terminal',
  },
} as const satisfies { [name: string]: Option }

type Given = {
  readonly out?: string | undefined
  readonly yes?: boolean | undefined
  readonly json?: boolean | undefined
}

/** Called before the password prompt, which would otherwise be in vain. */
export function checkCanReveal({ out, yes }: Given): void {
  if (out !== undefined) {
    if (existsSync(out)) throw fileExists(out)
    return
  }
  if (yes === true) return
  const code = 'confirmation_required'
  if (!process.stdout.isTTY) {
    const hint = 'give --out FILE, or --yes to write the secret to stdout'
    throw new UsageError('stdout is not a terminal', { code, hint })
  }
  if (!hasTerminal()) {
    const hint = 'give --out FILE, or --yes to show the secret'
    throw new UsageError('confirmation is required, but stdin is not a terminal', { code, hint })
  }
}

export type Secret = {
  /** One line. */
  readonly secret: string
  /** The lines that a terminal shows instead. @default the secret */
  readonly display?: string | undefined
  /** The name of the secret's member in JSON. */
  readonly member: string
  /** The other members in JSON, which are not secret. */
  readonly facts: { readonly [name: string]: unknown }
  /** Lines that are printed on stderr before the secret. */
  readonly warning: readonly string[]
}

export async function revealSecret(given: Given, obtain: () => Promise<Secret>, question: string): Promise<void> {
  checkCanReveal(given)
  if (given.out === undefined) await requireConfirmation(given.yes, () => confirm(question))
  const { secret, display, member, facts, warning } = await obtain()
  for (const line of warning) printMessage(line)
  if (given.out !== undefined) {
    writeNewFile(given.out, `${secret}\n`)
    if (given.json) printJson({ ...facts, file: given.out })
    else printMessage(`Written to ${given.out}.`)
  } else if (given.json) printJson({ ...facts, [member]: secret })
  else if (display !== undefined && process.stdout.isTTY) printResult(display)
  else printLine(secret)
}

/** Creates the file and never replaces one, because it may hold the only copy of another secret. */
export function writeNewFile(path: string, text: string): void {
  const bytes = Buffer.from(text)
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'wx', 0o600)
    fchmodSync(descriptor, 0o600)
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
    fsyncSync(descriptor)
  } catch (cause) {
    if (descriptor !== undefined) unlinkSync(path)
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') throw fileExists(path)
    throw new CommandError('file_unwritable', `the file cannot be written: ${(cause as Error).message}`, { cause })
  } finally {
    bytes.fill(0)
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function fileExists(path: string): CommandError {
  return new CommandError('file_exists', `${path} already exists and was not overwritten`, {
    hint: 'name another file',
  })
}
