/** `latchkey multisig delete ADDRESS`: a wallet forgets what an account is made of. */
import { command, jsonOption } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../printable.js'
import { checkAskable, confirm, consent } from '../../prompt.js'
import { checkAddress } from '../key/find.js'
import { findAccount, remake } from './find.js'

export const multisigDeleteCommand = command({
  text: 'Deletes a multisig account from a wallet. The keys of its members stay, and the account can be made again at any time.',
  takes: [{ name: 'ADDRESS', about: 'of the multisig account' }],
  options: {
    yes: { type: 'boolean', short: 'y', about: 'delete it without being asked' },
    ...walletOptions,
    ...jsonOption,
  },
  examples: ['latchkey multisig delete ADDRESS', 'latchkey multisig delete ADDRESS --yes'],
  ends: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [address] }) => {
    checkAddress(address!)
    checkAskable(options.yes)
    return withWallet(options, async ({ wallet }) => {
      const account = await findAccount(wallet, address!)
      await consent(options.yes, () => confirm(`Delete ${address} from ${quoted(wallet.name)}?`))
      await wallet.deleteMultisig(address!)
      const again = remake(account)
      if (options.json) process.stdout.write(`${JSON.stringify({ ...account, again })}\n`)
      else process.stderr.write(`${address} is deleted. To make it again: ${again}\n`)
      return exitCodes.ok
    })
  },
})
