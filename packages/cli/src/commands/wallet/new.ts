/** `latchkey wallet new NAME`: a wallet with a master key of its own. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { newPassword, passwordOptions } from '../../password.js'
import { quoted, shellWord } from '../../printable.js'
import { withProgress } from '../../progress.js'
import { checkName } from './names.js'

export const walletNewCommand = command({
  text: 'Makes a wallet and prints its id. Its password is asked for twice.',
  takes: [{ name: 'NAME', about: 'what it is to be called' }],
  options: { ...passwordOptions, ...daemonOptions, ...jsonOption },
  notes: 'A new wallet has no keys; latchkey key new makes them. latchkey wallet recover makes one from a backup.',
  examples: ['latchkey wallet new savings', 'latchkey wallet new tests --no-password'],
  ends: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [name] }) =>
    withDaemon(options, async (kmd) => {
      await checkName(kmd, name!)
      const password = await newPassword(options)
      try {
        const wallet = await withProgress(`Making ${quoted(name!)}`, kmd.wallets.create({ name: name!, password }))
        if (options.json) process.stdout.write(`${JSON.stringify({ wallet })}\n`)
        else {
          process.stdout.write(`${wallet.id}\n`)
          const word = shellWord(name!)
          process.stderr.write(
            `Wallet ${quoted(name!)} is made. A first key: latchkey key new -w ${word}. Its backup: latchkey wallet backup ${word}.\n`,
          )
        }
        return exitCodes.ok
      } finally {
        password.fill(0)
      }
    }),
})
