/** The command `latchkey`: finds the subcommand and turns what it throws into a message and an exit code. */
import { type Command, UsageError } from './Command.js'
import { exitCodes } from './exitCodes.js'
import { version } from './version.js'

/** Loaded when it is called for: nobody waits for the key daemon's modules in order to start a devnet. */
type Entry = { name: string; about: string; load: () => Promise<Command> }

const commands: readonly Entry[] = [
  {
    name: 'dev',
    about: 'runs all of it for development, with one paid request to begin with',
    load: async () => (await import('./commands/dev.js')).devCommand,
  },
  {
    name: 'kmd',
    about: 'runs the key daemon',
    load: async () => (await import('./commands/kmd.js')).kmdCommand,
  },
  {
    name: 'devnet',
    about: 'runs an Algorand ledger for development, with funded accounts',
    load: async () => (await import('./commands/devnet.js')).devnetCommand,
  },
  {
    name: 'facilitator',
    about: 'runs an x402 facilitator: verifies and settles payments',
    load: async () => (await import('./commands/facilitator.js')).facilitatorCommand,
  },
  {
    name: 'pay',
    about: 'asks for an address, pays what it costs within limits, and prints the answer',
    load: async () => (await import('./commands/pay.js')).payCommand,
  },
  {
    name: 'token rotate',
    about: 'replaces the API token of the key daemon',
    load: async () => (await import('./commands/token.js')).tokenCommand,
  },
]

const help = `Latchkey keeps Algorand keys in one place and lets programs use them.

Usage:
  latchkey <command> [options]

Commands:
${commands.map(({ name, about }) => `  ${name.padEnd(16)}${about}`).join('\n')}

  latchkey <command> --help tells about one of them.
  latchkey --version prints the version.

Exit codes: 0 done, 1 wrong usage, 2 log file cannot be written, 3 failed, 4 already running.
`

export async function main(args: readonly string[]): Promise<number> {
  const [first] = args
  if (first === '--version' || first === '-v') return print(`${version}\n`)
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') return print(help)
  const entry = commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word))
  if (entry === undefined) {
    process.stderr.write(`latchkey: there is no command ${JSON.stringify(first)}; latchkey --help lists them\n`)
    return exitCodes.usage
  }
  const command = await entry.load()
  const rest = args.slice(entry.name.split(' ').length)
  if (rest.includes('--help') || rest.includes('-h')) return print(command.help)
  try {
    return await command.run(rest)
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`latchkey ${entry.name}: ${error.message}\n\n${command.help}`)
      return exitCodes.usage
    }
    process.stderr.write(`latchkey ${entry.name}: ${(error as Error).message}\n`)
    return exitCodes.failed
  }
}

function print(text: string): number {
  process.stdout.write(text)
  return exitCodes.ok
}
