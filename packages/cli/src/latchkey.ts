/** The command `latchkey`: finds the subcommand and turns what it throws into a message and an exit code. */
import { exitCodes, version } from '@latchkey/kmd'
import { type Command, UsageError } from './Command.js'
import { kmdCommand } from './commands/kmd.js'
import { tokenCommand } from './commands/token.js'

const commands: readonly Command[] = [kmdCommand, tokenCommand]

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
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word))
  if (command === undefined) {
    process.stderr.write(`latchkey: there is no command ${JSON.stringify(first)}; latchkey --help lists them\n`)
    return exitCodes.usage
  }
  const rest = args.slice(command.name.split(' ').length)
  if (rest.includes('--help') || rest.includes('-h')) return print(command.help)
  try {
    return await command.run(rest)
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`latchkey ${command.name}: ${error.message}\n\n${command.help}`)
      return exitCodes.usage
    }
    process.stderr.write(`latchkey ${command.name}: ${(error as Error).message}\n`)
    return exitCodes.start
  }
}

function print(text: string): number {
  process.stdout.write(text)
  return exitCodes.ok
}
