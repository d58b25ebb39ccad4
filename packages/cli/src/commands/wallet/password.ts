/** `latchkey wallet password NAME`: changes the password of a wallet. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../format.js'
import { printJson, printMessage, withProgress } from '../../messages.js'
import { changedPassword, newPasswordOptions, passwordOptions } from '../../password.js'

export const walletPasswordCommand = command({
  description:
    "Change a wallet's password. Programs that have the wallet unlocked must unlock it again with the new password.",
  positionals: [{ name: 'NAME', description: 'name or id of the wallet' }],
  options: { ...passwordOptions, ...newPasswordOptions, ...daemonOptions, ...jsonOption },
  notes: 'Existing copies of the wallet file keep the old password. The recovery mnemonic stays the same.',
  examples: [
    'latchkey wallet password savings',
    'latchkey wallet password savings --password-file old --new-password-file new',
  ],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [given] }) =>
    // Unlocks first, so that a wrong password is reported before the prompt for the new one.
    withWallet({ ...options, wallet: given }, async ({ kmd, wallet: { id, name }, password }) => {
      const newPassword = await changedPassword(options)
      try {
        await withProgress('Changing the password', kmd.wallets.changePassword({ id, password, newPassword }))
      } finally {
        newPassword.fill(0)
      }
      if (options.json) printJson({ wallet: { id, name } })
      else printMessage(`Changed the password of wallet ${quoted(name)}.`)
      return exitCodes.ok
    }),
})
