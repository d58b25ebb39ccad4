/** `latchkey multisig delete ADDRESS`: removes a multisig account from a wallet. */
import { command, jsonOption } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../format.js'
import { printJson, printMessage } from '../../messages.js'
import { checkCanConfirm, confirm, requireConfirmation } from '../../prompt.js'
import { checkAddress } from '../key/checkKey.js'
import { createCommand, findAccount } from './MultisigAccount.js'

export const multisigDeleteCommand = command({
  description:
    "Delete a multisig account from a wallet. The members' keys stay in the wallet, and you can create the account again at any time.",
  positionals: [{ name: 'ADDRESS', description: 'address of the multisig account' }],
  options: {
    yes: { type: 'boolean', short: 'y', description: 'delete without confirmation' },
    ...walletOptions,
    ...jsonOption,
  },
  examples: ['latchkey multisig delete ADDRESS', 'latchkey multisig delete ADDRESS --yes'],
  exits: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [address] }) => {
    checkAddress(address!)
    checkCanConfirm(options.yes)
    return withWallet(options, async ({ wallet }) => {
      const account = await findAccount(wallet, address!)
      await requireConfirmation(options.yes, () => confirm(`Delete ${address} from ${quoted(wallet.name)}?`))
      await wallet.deleteMultisig(address!)
      const again = createCommand(account)
      if (options.json) printJson({ ...account, again })
      else printMessage(`Deleted ${address}. To create it again: ${again}`)
      return exitCodes.ok
    })
  },
})
