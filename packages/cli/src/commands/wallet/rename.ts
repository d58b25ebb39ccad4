/** `latchkey wallet rename NAME NEW-NAME`: renames a wallet. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, findWallet, withDaemon, withPassword } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../format.js'
import { printJson, printMessage, withProgress } from '../../messages.js'
import { passwordOptions } from '../../password.js'
import { checkName } from './checkName.js'

export const walletRenameCommand = command({
  description: 'Rename a wallet. Programs that have the wallet unlocked are not affected.',
  positionals: [
    { name: 'NAME', description: 'name or id of the wallet' },
    { name: 'NEW-NAME', description: 'new name' },
  ],
  options: { ...passwordOptions, ...daemonOptions, ...jsonOption },
  examples: ['latchkey wallet rename savings reserve'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [name, newName] }) =>
    withDaemon(options, async (kmd) => {
      const { id, name: oldName } = await findWallet(kmd, name!)
      await checkName(kmd, newName!)
      return withPassword(options, oldName, async (password) => {
        const renaming = kmd.wallets.rename({ id, password, newName: newName! })
        const wallet = await withProgress(`Renaming ${quoted(oldName)}`, renaming)
        if (options.json) printJson({ wallet, oldName })
        else printMessage(`Renamed wallet ${quoted(oldName)} to ${quoted(newName!)}.`)
        return exitCodes.ok
      })
    }),
})
