/** The command `latchkey`: finds the subcommand, runs it, and converts an error to a message and an exit code. */
import { LatchkeyError } from '@latchkey/algorand/error'
import * as Suggestion from '@latchkey/algorand/suggestion'
import type { KmdClientErrorCode } from '@latchkey/kmd-client'
import type { Call, Command, CommandEntry } from './Command.js'
import { CommandError, UsageError } from './errors.js'
import { clientExits, type ExitCode, exitCodes } from './exitCodes.js'
import { explained } from './explained.js'
import { help, table, terminalWidth, wrap } from './help.js'
import { helpTopics } from './helpTopics.js'
import {
  describe,
  expectContent,
  hasPrintedContent,
  printJson,
  printMessage,
  printResult,
  reportCrashes,
  withHint,
} from './messages.js'
import { parseCall, splitRest } from './parseCall.js'
import { registry } from './registry.js'
import { mayUseStack } from './stack/stateDirectory.js'
import { version } from './version.js'

export async function main(args: readonly string[]): Promise<number> {
  exitWhenReaderCloses()
  reportCrashes('latchkey', exitCodes.failed)
  const [first, ...others] = args
  if (first === '--version' || first === '-v') return print(`${version}\n`)
  if (first === undefined || first === '--help' || first === '-h') return print(overview())
  if (first === 'help') return printHelp(others)
  const entry = find(args)
  if (entry === undefined) return isGroup(args) ? print(groupOverview(first)) : unknownCommand(args)
  const rest = args.slice(entry.name.split(' ').length)
  // For example `kmd strat`.
  if (groupOf(entry.name).length > 0 && /^\w/.test(rest[0] ?? '')) return unknownCommand(args)
  return run(entry, rest)
}

async function run(entry: CommandEntry, args: readonly string[]): Promise<number> {
  const command = await entry.load()
  if (wantsHelp(command, args)) return print(help(entry.name, command, terminalWidth()))
  expectContent()
  try {
    const call = parseCall(command, args, registry)
    return await command.run(
      mayUseStack(entry.name, command.options) ? await withStack(entry.name, command, call) : call,
    )
  } catch (error) {
    return fail(entry.name, error, wantsJson(command, args))
  }
}

/** Loaded only if a stack may be running, because most commands take less time than loading it. */
async function withStack(name: string, command: Command, call: Call): Promise<Call> {
  const { useRunningStack } = await import('./stack/useRunningStack.js')
  const use = { name, options: call.options, known: command.options, environment: process.env }
  return { ...call, options: (await useRunningStack(use)) as Call['options'] }
}

function wantsHelp(command: Command, args: readonly string[]): boolean {
  const { own } = splitRest(command, args)
  return own.includes('--help') || own.includes('-h')
}

/** Read from the arguments, because they may be what is wrong. */
function wantsJson(command: Command, args: readonly string[]): boolean {
  return (
    'json' in command.options && command.hasContentOutput !== true && splitRest(command, args).own.includes('--json')
  )
}

/** With `--json`, a program gets the error on stdout; the line on stderr stays for people. */
function fail(name: string, error: unknown, isJson: boolean): number {
  const text = error instanceof UsageError ? withHint(describe(error), `see latchkey ${name} --help`) : describe(error)
  if (text !== '') printMessage(`latchkey ${name}: ${text}`)
  // Content on stdout, such as half of a response, must not be followed by JSON.
  if (isJson && !hasPrintedContent()) printJson({ error: errorJson(error) })
  return exitCodes[exitOf(error)]
}

function errorJson(error: unknown): { code: string; message: string; hint: string | null } {
  const { message, hint } = explained(error)
  return { code: error instanceof LatchkeyError ? error.code : 'failed', message, hint: hint ?? null }
}

/** An error of the daemon's client arrives here unchanged if a command does not use `withDaemon`. */
function exitOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exit
  if (!(error instanceof LatchkeyError) || error.name !== 'KmdClientError') return 'failed'
  return clientExits[error.code as KmdClientErrorCode] ?? 'failed'
}

/** Prefers the longest name: `kmd start` over `kmd`. */
function find(args: readonly string[]): CommandEntry | undefined {
  return registry
    .filter(({ name }) => name.split(' ').every((word, index) => args[index] === word))
    .sort((a, b) => b.name.length - a.name.length)[0]
}

const groupOf = (name: string): readonly CommandEntry[] => registry.filter((entry) => entry.name.startsWith(`${name} `))

function isGroup([first, second]: readonly string[]): boolean {
  return groupOf(first!).length > 0 && (second === undefined || second === '--help' || second === '-h')
}

/** The names of all commands and groups. */
function commandNames(): Set<string> {
  return new Set(registry.flatMap(({ name }) => [name, name.split(' ')[0]!]))
}

function unknownCommand([first, second]: readonly string[]): number {
  const isInGroup = groupOf(first!).length > 0
  const given = isInGroup ? `${first} ${second}` : first!
  const suggestion = Suggestion.didYouMean(given, commandNames())
  const list = `${isInGroup ? `latchkey ${first} --help` : 'latchkey help all'} lists the commands`
  const text = withHint(withHint(`unknown command ${JSON.stringify(given)}`, suggestion), list)
  printMessage(`latchkey: ${text}`)
  return exitCodes.usage
}

async function printHelp(words: readonly string[]): Promise<number> {
  const [first] = words
  if (first === undefined) return print(overview())
  if (first === 'all' && words.length === 1) return print(allCommands())
  const topic = words.length === 1 && Object.hasOwn(helpTopics, first) ? helpTopics[first] : undefined
  if (topic !== undefined) return print(topic.text(terminalWidth()))
  const entry = find(words)
  if (entry !== undefined) return print(help(entry.name, await entry.load(), terminalWidth()))
  return words.length === 1 && isGroup(words) ? print(groupOverview(first)) : unknownTopic(words)
}

function unknownTopic(words: readonly string[]): number {
  const given = words.join(' ')
  const suggestion = Suggestion.didYouMean(given, [...Object.keys(helpTopics), ...commandNames()])
  const text = withHint(
    withHint(`no help for ${JSON.stringify(given)}`, suggestion),
    'latchkey help all lists the commands',
  )
  printMessage(`latchkey: ${text}`)
  return exitCodes.usage
}

/** The commands that most people need first. `latchkey help all` lists every command. */
const firstCommands: { readonly [group: string]: readonly string[] } = {
  Start: ['dev', 'console'],
  Pay: ['pay', 'send'],
  Keys: ['wallet new', 'sign'],
  Agents: ['agent new', 'approvals watch'],
  Operate: ['kmd', 'doctor'],
}

function overview(): string {
  const width = terminalWidth()
  const summaries = new Map(registry.map(({ name, summary }) => [name, summary]))
  const groups = Object.entries(firstCommands).map(([title, names]) => {
    return `${title}:\n${table(
      names.map((name) => [name.padEnd(longestFirst), summaries.get(name)!] as const),
      width,
    )}`
  })
  return `${purpose(width)}

Usage:
  latchkey <command> [options]

${groups.join('\n\n')}

${wrap(`latchkey help all lists all ${registry.length} commands; latchkey <command> --help shows the help of one.`, 0, width)}
`
}

/** All groups have the same columns. */
const longestFirst = Math.max(
  ...Object.values(firstCommands)
    .flat()
    .map(({ length }) => length),
)

function purpose(width: number): string {
  return wrap('Latchkey keeps Algorand keys in one place and lets programs sign and pay with them.', 0, width)
}

function allCommands(): string {
  const topics = Object.entries(helpTopics).map(([name, { summary }]): [string, string] => [`help ${name}`, summary])
  const width = terminalWidth()
  return `${purpose(width)}

Usage:
  latchkey <command> [options]

Commands:
${table(
  registry.map(({ name, summary }) => [name, summary] as const),
  width,
)}

${table(topics, width)}

  ${wrap('latchkey <command> --help shows the help of a command; latchkey --version prints the version.', 2, width)}
`
}

function groupOverview(name: string): string {
  const rows = groupOf(name).map((entry) => [entry.name, entry.summary] as const)
  return `Commands:\n${table(rows, terminalWidth())}\n\n  latchkey <command> --help shows the help of a command.\n`
}

function print(text: string): number {
  printResult(text)
  return exitCodes.ok
}

/**
 * A closed pipe is a normal end: `latchkey wallet list | head -1`. A server continues without a reader of its messages.
 */
function exitWhenReaderCloses(): void {
  process.stderr.on('error', () => {})
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.ok)
    printMessage(`latchkey: stdout cannot be written: ${error.message}`)
    process.exit(exitCodes.failed)
  })
}
