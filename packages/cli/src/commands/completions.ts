/** `latchkey completions SHELL`: what a shell needs in order to complete commands and options, made from the registry. */
import { command, UsageError } from '../Command.js'
import * as Completions from '../Completions.js'
import { exitCodes } from '../exitCodes.js'
import { registry } from '../registry.js'
import { topics } from '../topics.js'

export const completionsCommand = command({
  text: 'Prints a script that lets a shell complete commands and options of latchkey.',
  takes: [{ name: 'SHELL', about: 'bash, zsh or fish' }],
  options: {},
  examples: [
    'latchkey completions bash > ~/.local/share/bash-completion/completions/latchkey',
    'latchkey completions zsh > $fpath[1]/_latchkey',
    'latchkey completions fish > ~/.config/fish/completions/latchkey.fish',
  ],
  run: async ({ args: [shell] }) => {
    const write = Completions.shells[shell as Completions.Shell]
    if (write === undefined) throw new UsageError(`SHELL is ${Object.keys(Completions.shells).join(', ')}`)
    const words: Completions.Word[] = await Promise.all(
      registry.map(async ({ name, about, load }) => ({ name, about, ...(await load()) })),
    )
    const help = Object.entries(topics).map(([name, { about }]) => ({ name: `help ${name}`, about, options: {} }))
    process.stdout.write(write([...words, ...help]))
    return exitCodes.ok
  },
})
