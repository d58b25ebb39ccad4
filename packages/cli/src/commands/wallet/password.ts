/** `latchkey wallet password NAME`: another password. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { changedPassword, newPasswordOptions, passwordOptions } from '../../password.js'
import { quoted } from '../../printable.js'
import { withProgress } from '../../progress.js'

export const walletPasswordCommand = command({
  text: 'Changes the password of a wallet. Whoever has it unlocked must unlock it again, with the new one.',
  takes: [{ name: 'NAME', about: 'of the wallet, or its id' }],
  options: { ...passwordOptions, ...newPasswordOptions, ...daemonOptions, ...jsonOption },
  notes:
    'Copies of the wallet file that were made before keep the old password. The 25 words of its backup stay the same.',
  examples: [
    'latchkey wallet password savings',
    'latchkey wallet password savings --password-file old --new-password-file new',
  ],
  ends: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [said] }) =>
    // Unlocked first: nobody thinks up a new password only to hear that the old one was wrong.
    withWallet({ ...options, wallet: said }, async ({ kmd, wallet: { id, name }, password }) => {
      const newPassword = await changedPassword(options)
      try {
        await withProgress('Changing the password', kmd.wallets.changePassword({ id, password, newPassword }))
      } finally {
        newPassword.fill(0)
      }
      if (options.json) process.stdout.write(`${JSON.stringify({ wallet: { id, name } })}\n`)
      else process.stderr.write(`Wallet ${quoted(name)} has its new password.\n`)
      return exitCodes.ok
    }),
})
