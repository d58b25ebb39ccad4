/** `latchkey completions SHELL`: prints a completion script for a shell. */
import { command } from '../Command.js'
import * as Completions from '../Completions.js'
import { exitCodes } from '../exitCodes.js'
import { helpTopics } from '../helpTopics.js'
import { printResult } from '../messages.js'

export const completionsCommand = command({
  description: 'Print a script that completes the commands, options and values of latchkey in a shell.',
  positionals: [{ name: 'SHELL', description: 'bash, zsh or fish', choices: Object.keys(Completions.shells) }],
  options: {},
  examples: [
    'latchkey completions bash > ~/.local/share/bash-completion/completions/latchkey',
    'latchkey completions zsh > $fpath[1]/_latchkey',
    'latchkey completions fish > ~/.config/fish/completions/latchkey.fish',
  ],
  run: async ({ args: [shell], commands }) => {
    const script = Completions.shells[shell as Completions.Shell]
    const completed: Completions.CompletedCommand[] = await Promise.all(
      commands.map(async ({ name, summary, load }) => ({ name, summary, ...(await load()) })),
    )
    const topics = Object.entries(helpTopics).map(([name, { summary }]) => ({
      name: `help ${name}`,
      summary,
      options: {},
    }))
    printResult(script([...completed, ...topics]))
    return exitCodes.ok
  },
})
