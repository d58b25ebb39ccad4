/** `latchkey wallet new NAME`: creates a wallet. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted, shellWord } from '../../format.js'
import { printJson, printLine, printMessage, withProgress } from '../../messages.js'
import { newPassword, passwordOptions } from '../../password.js'
import { checkName } from './checkName.js'

export const walletNewCommand = command({
  description: 'Create a wallet and print its id. The command asks for the password twice.',
  positionals: [{ name: 'NAME', description: 'name of the new wallet' }],
  options: { ...passwordOptions, ...daemonOptions, ...jsonOption },
  notes:
    'A new wallet has no keys: generate one with latchkey key new. To restore a wallet from its backup, run latchkey wallet recover.',
  examples: ['latchkey wallet new savings', 'latchkey wallet new tests --no-password'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [name] }) =>
    withDaemon(options, async (kmd) => {
      await checkName(kmd, name!)
      const password = await newPassword(options)
      try {
        const wallet = await withProgress(`Creating ${quoted(name!)}`, kmd.wallets.create({ name: name!, password }))
        if (options.json) printJson({ wallet })
        else {
          printLine(wallet.id)
          const word = shellWord(name!)
          printMessage(
            `Created wallet ${quoted(name!)}. First key: latchkey key new -w ${word}. Backup: latchkey wallet backup ${word}.`,
          )
        }
        return exitCodes.ok
      } finally {
        password.fill(0)
      }
    }),
})
