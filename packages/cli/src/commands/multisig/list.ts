/** `latchkey multisig list`: the multisig accounts of a wallet. */
import { command, jsonOption } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { columns, quoted } from '../../printable.js'
import { type Account, describe } from './find.js'

export const multisigListCommand = command({
  text: 'Lists the multisig accounts of a wallet: address, how many of its members must sign, and how many of their keys are in the wallet.',
  options: { ...walletOptions, ...jsonOption },
  examples: ['latchkey multisig list', 'latchkey multisig list --wallet savings --json'],
  ends: ['unreachable', 'password', 'interrupted'],
  run: ({ options }) =>
    withWallet(options, async ({ wallet }) => {
      const own = new Set(await wallet.keys())
      const accounts: Account[] = []
      for (const address of await wallet.multisigs()) accounts.push(await describe(wallet, address, own))
      if (options.json) {
        const outcome = { wallet: { id: wallet.id, name: wallet.name }, multisigs: accounts }
        process.stdout.write(`${JSON.stringify(outcome)}\n`)
      } else if (accounts.length > 0) process.stdout.write(columns(accounts.map(row)))
      else
        process.stderr.write(
          `There is no multisig account in ${quoted(wallet.name)}; latchkey multisig new makes one.\n`,
        )
      return exitCodes.ok
    }),
})

function row({ address, threshold, members }: Account): string[] {
  return [address, `${threshold} of ${members.length}`, `${members.filter(({ isHere }) => isHere).length} here`]
}
