/**
 * Secrets on their way out: to the screen of somebody who agreed, into a new file that only its owner can read, or into
 * a pipe if that was said. Never by accident into a log.
 */
import { closeSync, existsSync, fchmodSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { type Option, UsageError } from './Command.js'
import { CommandError } from './exitCodes.js'
import { confirm, consent, hasTerminal } from './prompt.js'

export const revealOptions = {
  out: {
    type: 'string',
    short: 'o',
    value: 'FILE',
    completes: 'file',
    about: 'write it into this new file, for its owner alone, and show nothing',
  },
  yes: { type: 'boolean', short: 'y', about: 'show it without being asked, also where stdout is no terminal' },
} as const satisfies { [name: string]: Option }

type Given = {
  readonly out?: string | undefined
  readonly yes?: boolean | undefined
  readonly json?: boolean | undefined
}

/** Before a password is asked for in vain. */
export function checkReveal({ out, yes }: Given): void {
  if (out !== undefined) {
    if (existsSync(out)) throw taken(out)
    return
  }
  if (yes === true) return
  if (!process.stdout.isTTY) {
    throw new UsageError('stdout is no terminal: give --out FILE, or --yes if the secret is to go there')
  }
  if (!hasTerminal()) throw new UsageError('nobody can be asked here: give --out FILE, or --yes to show the secret')
}

export type Revealed = {
  /** What is to be kept secret, in one line. */
  readonly secret: string
  /** Under which name it stands in JSON. */
  readonly member: string
  /** What else there is to know, and may be known. */
  readonly facts: { readonly [name: string]: unknown }
  readonly warning: string
}

export async function reveal(given: Given, obtain: () => Promise<Revealed>, question: string): Promise<Revealed> {
  checkReveal(given)
  if (given.out === undefined) await consent(given.yes, () => confirm(question))
  const revealed = await obtain()
  const { secret, member, facts, warning } = revealed
  process.stderr.write(warning)
  if (given.out !== undefined) {
    writeNew(given.out, `${secret}\n`)
    if (given.json) process.stdout.write(`${JSON.stringify({ ...facts, file: given.out })}\n`)
    else process.stderr.write(`Written to ${given.out}.\n`)
  } else process.stdout.write(given.json ? `${JSON.stringify({ ...facts, [member]: secret })}\n` : `${secret}\n`)
  return revealed
}

/** Whole and on the disk, or not at all. */
function writeNew(path: string, text: string): void {
  const bytes = Buffer.from(text)
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'wx', 0o600)
    fchmodSync(descriptor, 0o600)
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
    fsyncSync(descriptor)
  } catch (error) {
    if (descriptor !== undefined) unlinkSync(path)
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw taken(path)
    throw new CommandError('failed', `the file cannot be written: ${(error as Error).message}`)
  } finally {
    bytes.fill(0)
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function taken(path: string): CommandError {
  return new CommandError('failed', `${path} is there already, and is not overwritten; name another file`)
}
