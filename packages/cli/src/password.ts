/**
 * Where passwords come from: a file, an open descriptor, the person at the terminal, and last the environment, which
 * other programs can read. Never an argument: those are in everybody's list of processes and in the shell's history.
 * They are bytes, which need not be text, and can be wiped by whoever obtained them.
 */
import { type Option, readNumber, UsageError } from './Command.js'
import { CommandError } from './exitCodes.js'
import { type Input, openDescriptor, openFile } from './Input.js'
import { askHidden, confirm, hasTerminal, printNotice } from './prompt.js'

export const passwordOptions = {
  'password-file': {
    type: 'string',
    value: 'FILE',
    completes: 'file',
    about: 'the password is the first line of this file',
  },
  'password-fd': { type: 'string', value: 'N', about: 'the password is the next line of this open file descriptor' },
  'no-password': { type: 'boolean', about: 'the password is blank' },
} as const satisfies { [name: string]: Option }

export const newPasswordOptions = {
  'new-password-file': {
    ...passwordOptions['password-file'],
    about: 'the new password is the first line of this file',
  },
  'new-password-fd': {
    ...passwordOptions['password-fd'],
    about: 'the new password is the next line of this open file descriptor',
  },
  'no-new-password': { type: 'boolean', about: 'the new password is blank' },
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

/** Of a wallet that is there: obtained when it is first needed, and only once. */
export function password(
  given: Given,
  wallet: string,
  environment: Environment = process.env,
): () => Promise<Uint8Array> {
  const said = readGiven(given, '')
  let obtained: Promise<Uint8Array> | undefined
  return () => {
    obtained ??= obtain(said, environment, async () => Buffer.from(await askHidden(`Password of ${wallet}: `)))
    return obtained
  }
}

/** Of a wallet to be: a person types it twice, and says so if it is to be blank. */
export function newPassword(given: Given, environment: Environment = process.env): Promise<Uint8Array> {
  return obtainNew(readGiven(given, ''), environment, '')
}

/** In place of another. The environment has that other one. */
export function changedPassword(given: NewGiven): Promise<Uint8Array> {
  const said = {
    'password-file': given['new-password-file'],
    'password-fd': given['new-password-fd'],
    'no-password': given['no-new-password'],
  }
  return obtainNew(readGiven(said, 'new-'), {}, 'new-')
}

type Prefix = 'new-' | ''
type Source = { readonly isBlank: boolean; readonly read: () => Uint8Array } | undefined

function readGiven(given: Given, prefix: Prefix): Source {
  const { 'password-file': file, 'password-fd': fd, 'no-password': isBlank } = given
  const count = [file, fd, isBlank].filter((one) => one !== undefined).length
  if (count > 1) throw new UsageError(`say in one way only where the ${prefix.replace('-', ' ')}password comes from`)
  if (isBlank) return { isBlank: true, read: () => new Uint8Array() }
  if (file !== undefined) return { isBlank: false, read: () => readFile(file) }
  const number = readNumber(`--${prefix}password-fd`, fd, 0, 1_023)
  return number === undefined ? undefined : { isBlank: false, read: () => readLine(openDescriptor(number)) }
}

/** A file that is empty, or a command that failed to fill a pipe, must not make a wallet that is open to all. */
async function obtainNew(said: Source, environment: Environment, prefix: Prefix): Promise<Uint8Array> {
  const prompt = () => askTwice(prefix === '' ? 'Password' : 'New password')
  const obtained = await obtain(said, environment, prompt, prefix)
  const isAsked = said === undefined && !isFileSaid(environment) && hasTerminal()
  if (obtained.length > 0 || isAsked || said?.isBlank === true) return obtained
  throw new CommandError(
    'password',
    `the password that was given is blank; --no-${prefix}password says that it is meant`,
  )
}

const isFileSaid = ({ KMD_PASSWORD_FILE: file = '' }: Environment): boolean => file !== ''

async function obtain(
  said: Source,
  environment: Environment,
  prompt: () => Promise<Uint8Array>,
  prefix: Prefix = '',
): Promise<Uint8Array> {
  if (said !== undefined) return said.read()
  const { KMD_PASSWORD_FILE: file = '', KMD_PASSWORD: plain } = environment
  if (isFileSaid(environment)) return readFile(file)
  if (hasTerminal()) return prompt()
  if (plain !== undefined) {
    process.stderr.write('warning: the password was taken from KMD_PASSWORD, which other programs can read\n')
    return Buffer.from(plain)
  }
  const cure = `give --${prefix}password-file or --${prefix}password-fd`
  throw new CommandError('password', `there is no terminal to ask for the ${prefix.replace('-', ' ')}password; ${cure}`)
}

async function askTwice(what: string): Promise<Uint8Array> {
  for (;;) {
    const first = await askHidden(`${what}: `)
    if (first === '') {
      if (await confirm('Blank: whoever has the API token can then use every key. Really without a password?'))
        return new Uint8Array()
      continue
    }
    if ((await askHidden('The same again: ')) === first) return Buffer.from(first)
    printNotice('These were not the same. Once more.')
  }
}

function readFile(path: string): Uint8Array {
  try {
    return readLine(openFile(path))
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError('password', `the password file cannot be read: ${(error as Error).message}`)
  }
}

function readLine(input: Input): Uint8Array {
  try {
    return input.line() ?? new Uint8Array()
  } catch (error) {
    throw new CommandError('password', `the password cannot be read from ${input.name}: ${(error as Error).message}`)
  } finally {
    input.close()
  }
}
