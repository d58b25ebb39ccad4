/**
 * Passwords come from a file, an open descriptor, a prompt, and as a last resort the environment, which other programs
 * can read. Never from an argument, because arguments appear in the process list and in the shell's history. A password
 * is bytes, not necessarily text, and the caller wipes it.
 */
import { statSync } from 'node:fs'
import { type Option, readNumber } from './Command.js'
import { CommandError, UsageError } from './errors.js'
import { quoted } from './format.js'
import { type LineReader, openDescriptor, openFile } from './LineReader.js'
import { printWarning } from './messages.js'
import { askHidden, confirm, hasTerminal, printNotice } from './prompt.js'
import { hasBlankPassword } from './stack/stackValues.js'

export const passwordOptions = {
  'password-file': {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'read the password from the first line of this file',
  },
  'password-fd': {
    type: 'string',
    placeholder: 'N',
    description: 'read the password from the next line of this open file descriptor',
  },
  'no-password': { type: 'boolean', description: 'use a blank password' },
} as const satisfies { [name: string]: Option }

export const newPasswordOptions = {
  'new-password-file': {
    ...passwordOptions['password-file'],
    description: 'read the new password from the first line of this file',
  },
  'new-password-fd': {
    ...passwordOptions['password-fd'],
    description: 'read the new password from the next line of this open file descriptor',
  },
  'no-new-password': { type: 'boolean', description: 'use a blank new password' },
} as const satisfies { [name: string]: Option }

type Given = {
  readonly [name in keyof typeof passwordOptions]?: name extends 'no-password'
    ? boolean | undefined
    : string | undefined
}

type NewGiven = {
  readonly [name in keyof typeof newPasswordOptions]?: name extends 'no-new-password'
    ? boolean | undefined
    : string | undefined
}

type Environment = { readonly [name: string]: string | undefined }

/** Returns the password of an existing wallet, read once, on the first call. */
export function password(
  given: Given,
  wallet: string,
  environment: Environment = process.env,
): () => Promise<Uint8Array> {
  const source = sourceOf(given, '') ?? blankOfStack(wallet, environment)
  let reading: Promise<Uint8Array> | undefined
  return () => {
    reading ??= read(source, environment, async () => Buffer.from(await askHidden(`Password of ${wallet}: `)))
    return reading
  }
}

/** The wallets of a development stack have no password, even without its environment in the terminal. */
function blankOfStack(wallet: string, { KMD_PASSWORD_FILE: file = '' }: Environment): Source {
  return file === '' && hasBlankPassword(wallet) ? { isBlank: true, read: () => new Uint8Array() } : undefined
}

/** Reads the password of a new wallet. A person types it twice, and confirms an empty one. */
export function newPassword(given: Given, environment: Environment = process.env): Promise<Uint8Array> {
  return readNew(sourceOf(given, ''), environment, '')
}

/** Reads the new password of an existing wallet. Not from the environment, which has the current one. */
export function changedPassword(given: NewGiven): Promise<Uint8Array> {
  const renamed = {
    'password-file': given['new-password-file'],
    'password-fd': given['new-password-fd'],
    'no-password': given['no-new-password'],
  }
  return readNew(sourceOf(renamed, 'new-'), {}, 'new-')
}

type Prefix = 'new-' | ''
type Source = { readonly isBlank: boolean; readonly read: () => Uint8Array } | undefined

function sourceOf(given: Given, prefix: Prefix): Source {
  const { 'password-file': file, 'password-fd': fd, 'no-password': isBlank } = given
  if ([file, fd, isBlank].filter((one) => one !== undefined).length > 1) {
    throw new UsageError(`give only one of --${prefix}password-file, --${prefix}password-fd and --no-${prefix}password`)
  }
  if (isBlank) return { isBlank: true, read: () => new Uint8Array() }
  if (file !== undefined) return { isBlank: false, read: () => readFile(file) }
  const descriptor = readNumber(`--${prefix}password-fd`, fd, 0, 1_023)
  return descriptor === undefined ? undefined : { isBlank: false, read: () => readLine(openDescriptor(descriptor)) }
}

/** An empty file, or a pipe that a failed command did not fill, must not create a wallet without a password. */
async function readNew(source: Source, environment: Environment, prefix: Prefix): Promise<Uint8Array> {
  const prompt = () => askTwice(prefix === '' ? 'Password' : 'New password')
  const bytes = await read(source, environment, prompt, prefix)
  const isPrompted = source === undefined && !isFileSet(environment) && hasTerminal()
  if (bytes.length > 0 || isPrompted || source?.isBlank === true) return bytes
  throw new CommandError('password_blank', 'the given password is blank', {
    hint: `give --no-${prefix}password if that is intended`,
  })
}

const isFileSet = ({ KMD_PASSWORD_FILE: file = '' }: Environment): boolean => file !== ''

async function read(
  source: Source,
  environment: Environment,
  prompt: () => Promise<Uint8Array>,
  prefix: Prefix = '',
): Promise<Uint8Array> {
  if (source !== undefined) return source.read()
  const { KMD_PASSWORD_FILE: file = '', KMD_PASSWORD: plain } = environment
  if (isFileSet(environment)) return readFile(file)
  if (hasTerminal()) return prompt()
  if (plain !== undefined) {
    printWarning('the password comes from KMD_PASSWORD, which other programs can read')
    return Buffer.from(plain)
  }
  const name = `${prefix.replace('-', ' ')}password`
  throw new CommandError('password_required', `the ${name} is required, but stdin is not a terminal`, {
    hint: `give --${prefix}password-file or --${prefix}password-fd`,
  })
}

async function askTwice(label: string): Promise<Uint8Array> {
  for (;;) {
    const first = await askHidden(`${label}: `)
    if (first === '') {
      if (
        await confirm(
          'The password is blank: anyone with the API token can use every key. Create the wallet without a password?',
        )
      )
        return new Uint8Array()
      continue
    }
    if ((await askHidden('Repeat it: ')) === first) return Buffer.from(first)
    printNotice('The passwords differ. Try again.')
  }
}

function readFile(path: string): Uint8Array {
  try {
    warnIfReadable(path)
    return readLine(openFile(path))
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw unreadable(`the password file cannot be read: ${(cause as Error).message}`, cause)
  }
}

/** A device such as /dev/null, or a pipe, has no content to protect. */
function warnIfReadable(path: string): void {
  const found = statSync(path)
  if (process.platform === 'win32' || !found.isFile() || (found.mode & 0o044) === 0) return
  printWarning(`other users can read the password file ${quoted(path)}; run chmod 600 on it`)
}

function readLine(reader: LineReader): Uint8Array {
  try {
    return reader.readLine() ?? new Uint8Array()
  } catch (cause) {
    throw unreadable(`the password cannot be read from ${reader.name}: ${(cause as Error).message}`, cause)
  } finally {
    reader.close()
  }
}

function unreadable(message: string, cause: unknown): CommandError {
  return new CommandError('password_unreadable', message, { cause })
}
