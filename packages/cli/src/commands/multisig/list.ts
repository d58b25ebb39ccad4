/** `latchkey multisig list`: lists the multisig accounts of a wallet. */
import { command, jsonOption } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { columns, quoted } from '../../format.js'
import { printJson, printMessage, printResult } from '../../messages.js'
import { type MultisigAccount, readMultisigAccount } from './MultisigAccount.js'

export const multisigListCommand = command({
  description:
    "List the multisig accounts in a wallet: address, threshold, and how many of the members' keys are in the wallet.",
  options: { ...walletOptions, ...jsonOption },
  examples: ['latchkey multisig list', 'latchkey multisig list --wallet savings --json'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options }) =>
    withWallet(options, async ({ wallet }) => {
      const own = new Set(await wallet.keys())
      const accounts: MultisigAccount[] = []
      for (const address of await wallet.multisigs()) accounts.push(await readMultisigAccount(wallet, address, own))
      if (options.json) {
        const result = { wallet: { id: wallet.id, name: wallet.name }, multisigs: accounts }
        printJson(result)
      } else if (accounts.length > 0) printResult(columns(accounts.map(row)))
      else
        printMessage(`The wallet ${quoted(wallet.name)} has no multisig account yet. Create one: latchkey multisig new`)
      return exitCodes.ok
    }),
})

function row({ address, threshold, members }: MultisigAccount): string[] {
  return [address, `${threshold} of ${members.length}`, `${members.filter(({ isHere }) => isHere).length} here`]
}
