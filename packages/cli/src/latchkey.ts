/** The command `latchkey`: finds the subcommand and turns what it throws into a message and an exit code. */
import { closest } from '@latchkey/algorand/suggestion'
import { type Command, help, read, table, UsageError } from './Command.js'
import { CommandError, exitCodes } from './exitCodes.js'
import { type Entry, registry } from './registry.js'
import { topics } from './topics.js'
import { version } from './version.js'

export async function main(args: readonly string[]): Promise<number> {
  endQuietlyWithReader()
  const [first, ...others] = args
  if (first === '--version' || first === '-v') return print(`${version}\n`)
  if (first === undefined || first === '--help' || first === '-h') return print(overview())
  if (first === 'help') return tell(others)
  const entry = find(args)
  if (entry === undefined) return isGroup(args) ? print(groupOverview(first)) : unknown(args)
  return run(entry, args.slice(entry.name.split(' ').length))
}

async function run(entry: Entry, args: readonly string[]): Promise<number> {
  const command = await entry.load()
  if (asksForHelp(command, args)) return print(help(entry.name, command))
  try {
    return await command.run(read(command, args))
  } catch (error) {
    return fail(entry.name, error)
  }
}

function asksForHelp({ rest }: Command, args: readonly string[]): boolean {
  const end = rest === undefined ? -1 : args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  return own.includes('--help') || own.includes('-h')
}

async function fail(name: string, error: unknown): Promise<number> {
  const say = (text: string): void => void process.stderr.write(`latchkey ${name}: ${text}\n`)
  if (error instanceof UsageError) {
    say(`${error.message}; latchkey ${name} --help tells how`)
    return exitCodes.usage
  }
  if (error instanceof CommandError) {
    if (error.message !== '') say(error.message)
    return exitCodes[error.code]
  }
  const { message } = error as Error
  say(message)
  return endOf(error)
}

/** The daemon's client is not loaded in order to tell that something else failed. */
function endOf(error: unknown): number {
  const { name, code = '' } = error as Error & { code?: string }
  if (name !== 'KmdClientError') return exitCodes.failed
  if (['daemon_not_running', 'connection_lost', 'timeout'].includes(code)) return exitCodes.unreachable
  const isPassword = ['password_required', 'wrong_password', 'too_many_wrong_passwords'].includes(code)
  return isPassword ? exitCodes.password : exitCodes.failed
}

function find(args: readonly string[]): Entry | undefined {
  return registry.find(({ name }) => name.split(' ').every((word, index) => args[index] === word))
}

const groupOf = (name: string): readonly Entry[] => registry.filter((entry) => entry.name.startsWith(`${name} `))

function isGroup([first, second]: readonly string[]): boolean {
  return groupOf(first!).length > 0 && (second === undefined || second === '--help' || second === '-h')
}

function unknown([first, second]: readonly string[]): number {
  const group = groupOf(first!)
  const said = group.length > 0 ? `${first} ${second}` : first!
  const near = nearest(said)
  const hint = near === undefined ? '' : `did you mean ${near}? `
  process.stderr.write(
    `latchkey: there is no command ${JSON.stringify(said)}; ${hint}latchkey ${group.length > 0 ? `${first} ` : ''}--help lists them\n`,
  )
  return exitCodes.usage
}

/** The command that takes the fewest changed letters, if they are few. */
function nearest(said: string): string | undefined {
  return closest(
    said,
    registry.map(({ name }) => name),
  )
}

async function tell(words: readonly string[]): Promise<number> {
  const [first] = words
  if (first === undefined) return print(overview())
  const topic = words.length === 1 ? topics[first] : undefined
  if (topic !== undefined) return print(topic.text())
  const entry = find(words)
  if (entry !== undefined) return print(help(entry.name, await entry.load()))
  return isGroup([first]) ? print(groupOverview(first)) : unknown(words)
}

function overview(): string {
  const listed = Object.entries(topics).map(([name, { about }]): [string, string] => [`help ${name}`, about])
  return `Latchkey keeps Algorand keys in one place and lets programs use them, and pay with them.

Usage:
  latchkey <command> [options]

Commands:
${table(registry.map(({ name, about }) => [name, about] as const))}

${table(listed)}

  latchkey <command> --help tells about one of them; latchkey --version prints the version.
`
}

function groupOverview(name: string): string {
  const rows = groupOf(name).map((entry) => [entry.name, entry.about] as const)
  return `Commands:\n${table(rows)}\n\n  latchkey <command> --help tells about one of them.\n`
}

function print(text: string): number {
  process.stdout.write(text)
  return exitCodes.ok
}

/** Whoever read our output has seen enough: `latchkey wallet list | head -1`. */
function endQuietlyWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(exitCodes.ok)
  })
}
