/** `latchkey wallet delete NAME`: removes a wallet from the daemon; its file is kept. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, findWallet, withDaemon, withPassword } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { printable, quoted, shellWord } from '../../format.js'
import { printJson, printLine, printMessage, withProgress } from '../../messages.js'
import { passwordOptions } from '../../password.js'
import { checkCanConfirm, confirmByWord, requireConfirmation } from '../../prompt.js'

export const walletDeleteCommand = command({
  description:
    'Remove a wallet from the daemon. To confirm, type the name of the wallet. Its file is renamed, not deleted; to undo, rename the file back.',
  positionals: [{ name: 'NAME', description: 'name or id of the wallet' }],
  options: {
    yes: { type: 'boolean', short: 'y', description: 'delete without confirmation' },
    ...passwordOptions,
    ...daemonOptions,
    ...jsonOption,
  },
  examples: ['latchkey wallet delete tests', 'latchkey wallet delete tests --yes --no-password'],
  exits: ['declined', 'unreachable', 'password', 'interrupted'],
  run: ({ options, args: [given] }) => {
    checkCanConfirm(options.yes)
    return withDaemon(options, async (kmd) => {
      const { id, name } = await findWallet(kmd, given!)
      const question = `Programs that use the keys of ${quoted(name)} will fail.`
      await requireConfirmation(options.yes, () => confirmByWord(question, confirmationWord(name, id)))
      return withPassword(options, name, async (password) => {
        const { movedTo } = await withProgress(`Deleting ${quoted(name)}`, kmd.wallets.delete({ id, password }))
        const undo = `mv ${shellWord(movedTo)} ${shellWord(originalPath(movedTo))}`
        if (options.json) printJson({ wallet: { id, name }, movedTo, undo })
        else {
          printLine(movedTo)
          printMessage(`Removed wallet ${quoted(name)} from the daemon; its file was renamed. To undo this:`)
          printMessage(`  ${undo}`)
        }
        return exitCodes.ok
      })
    })
  },
})

function originalPath(movedTo: string): string {
  return movedTo.replace(/\.deleted-[^/]*$/, '')
}

/** The name, or the id if the name cannot be typed. */
function confirmationWord(name: string, id: string): string {
  return name === printable(name).trim() ? name : id
}
