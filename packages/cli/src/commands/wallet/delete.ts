/** `latchkey wallet delete NAME`: takes a wallet out of the daemon; its file stays. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, findWallet, withDaemon, withPassword } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { passwordOptions } from '../../password.js'
import { printable, quoted, shellWord } from '../../printable.js'
import { withProgress } from '../../progress.js'
import { checkAskable, confirmByWord, consent } from '../../prompt.js'

export const walletDeleteCommand = command({
  text: 'Takes a wallet out of the daemon, once its name was typed again. Its file is not removed but moved aside: moving it back undoes this.',
  takes: [{ name: 'NAME', about: 'of the wallet, or its id' }],
  options: {
    yes: { type: 'boolean', short: 'y', about: 'delete it without being asked' },
    ...passwordOptions,
    ...daemonOptions,
    ...jsonOption,
  },
  examples: ['latchkey wallet delete tests', 'latchkey wallet delete tests --yes --no-password'],
  ends: ['declined', 'unreachable', 'password', 'interrupted'],
  run: ({ options, args: [said] }) => {
    checkAskable(options.yes)
    return withDaemon(options, async (kmd) => {
      const { id, name } = await findWallet(kmd, said!)
      const question = `Programs that use the keys of ${quoted(name)} will fail.`
      await consent(options.yes, () => confirmByWord(question, wordFor(name, id)))
      return withPassword(options, name, async (password) => {
        const { movedTo } = await withProgress(`Deleting ${quoted(name)}`, kmd.wallets.delete({ id, password }))
        const undo = `mv ${shellWord(movedTo)} ${shellWord(placeBefore(movedTo))}`
        if (options.json) process.stdout.write(`${JSON.stringify({ wallet: { id, name }, movedTo, undo })}\n`)
        else {
          process.stdout.write(`${movedTo}\n`)
          process.stderr.write(
            `Wallet ${quoted(name)} is out of the daemon; its file was moved aside. To undo this:\n  ${undo}\n`,
          )
        }
        return exitCodes.ok
      })
    })
  },
})

function placeBefore(movedTo: string): string {
  return movedTo.replace(/\.deleted-[^/]*$/, '')
}

/** Some names cannot be typed. */
function wordFor(name: string, id: string): string {
  return name === printable(name).trim() ? name : id
}
