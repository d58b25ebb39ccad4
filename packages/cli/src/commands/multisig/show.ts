/** `latchkey multisig show ADDRESS`: shows the threshold and the members of the account. */
import { command, jsonOption } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { columns } from '../../format.js'
import { printJson, printMessage, printResult } from '../../messages.js'
import { checkAddress } from '../key/checkKey.js'
import { createCommand, findAccount, type MultisigAccount } from './MultisigAccount.js'

export const multisigShowCommand = command({
  description:
    'Show the version, threshold and members of a multisig account, which of their keys are in the wallet, and the command that creates the account again.',
  positionals: [{ name: 'ADDRESS', description: 'address of the multisig account' }],
  options: { ...walletOptions, ...jsonOption },
  examples: ['latchkey multisig show ADDRESS'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [address] }) => {
    checkAddress(address!)
    return withWallet(options, async ({ wallet }) => {
      const account = await findAccount(wallet, address!)
      if (options.json) printJson(account)
      else printResult(text(account))
      if (!options.json) printMessage(`To create it again: ${createCommand(account)}`)
      return exitCodes.ok
    })
  },
})

function text({ version, threshold, members }: MultisigAccount): string {
  const head = columns([
    ['version', String(version)],
    ['threshold', `${threshold} of ${members.length}`],
  ])
  return head + columns(members.map(({ address, isHere }) => ['member', address, isHere ? 'in this wallet' : '']))
}
