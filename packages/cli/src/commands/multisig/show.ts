/** `latchkey multisig show ADDRESS`: what the account is made of. */
import { command, jsonOption } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { columns } from '../../printable.js'
import { checkAddress } from '../key/find.js'
import { type Account, findAccount, remake } from './find.js'

export const multisigShowCommand = command({
  text: 'Shows version, threshold and members of a multisig account, which members are in the wallet, and how to make it again.',
  takes: [{ name: 'ADDRESS', about: 'of the multisig account' }],
  options: { ...walletOptions, ...jsonOption },
  examples: ['latchkey multisig show ADDRESS'],
  ends: ['unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [address] }) => {
    checkAddress(address!)
    return withWallet(options, async ({ wallet }) => {
      const account = await findAccount(wallet, address!)
      process.stdout.write(options.json ? `${JSON.stringify(account)}\n` : text(account))
      if (!options.json) process.stderr.write(`To make it again: ${remake(account)}\n`)
      return exitCodes.ok
    })
  },
})

function text({ version, threshold, members }: Account): string {
  const head = columns([
    ['version', String(version)],
    ['threshold', `${threshold} of ${members.length}`],
  ])
  return head + columns(members.map(({ address, isHere }) => ['member', address, isHere ? 'in this wallet' : '']))
}
