/** `latchkey wallet rename NAME NEW-NAME`. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, findWallet, withDaemon, withPassword } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { passwordOptions } from '../../password.js'
import { quoted } from '../../printable.js'
import { withProgress } from '../../progress.js'
import { checkName } from './names.js'

export const walletRenameCommand = command({
  text: 'Gives a wallet another name. Programs that have it unlocked go on.',
  takes: [
    { name: 'NAME', about: 'of the wallet, or its id' },
    { name: 'NEW-NAME', about: 'what it is to be called' },
  ],
  options: { ...passwordOptions, ...daemonOptions, ...jsonOption },
  examples: ['latchkey wallet rename savings reserve'],
  ends: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [name, newName] }) =>
    withDaemon(options, async (kmd) => {
      const { id, name: oldName } = await findWallet(kmd, name!)
      await checkName(kmd, newName!)
      return withPassword(options, oldName, async (password) => {
        const renaming = kmd.wallets.rename({ id, password, newName: newName! })
        const wallet = await withProgress(`Renaming ${quoted(oldName)}`, renaming)
        if (options.json) process.stdout.write(`${JSON.stringify({ wallet, oldName })}\n`)
        else process.stderr.write(`Wallet ${quoted(oldName)} is now ${quoted(newName!)}.\n`)
        return exitCodes.ok
      })
    }),
})
