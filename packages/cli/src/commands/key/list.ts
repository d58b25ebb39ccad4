/** `latchkey key list`: the addresses of a wallet's keys, and what they hold if a node is named. */
import { command, jsonOption } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { chainOptions } from '../../environment.js'
import { CommandError, exitCodes } from '../../exitCodes.js'
import { columns, quoted } from '../../printable.js'
import { withProgress } from '../../progress.js'
import { type Balance, balances } from './balances.js'

export const keyListCommand = command({
  text: 'Lists the addresses of the keys in a wallet. Where a network or a node is named, also what they hold, in ALGO and dollars.',
  options: {
    ...walletOptions,
    network: {
      ...chainOptions.network,
      about: 'show balances there: testnet, mainnet, betanet, local, or a CAIP-2 id',
    },
    node: { ...chainOptions.node, about: 'show balances from this algod; may be given several times, for failover' },
    dollar: chainOptions.dollar,
    ...jsonOption,
  },
  examples: ['latchkey key list', 'latchkey key list --wallet savings --network testnet'],
  ends: ['unreachable', 'password', 'interrupted'],
  run: ({ options }) =>
    withWallet(options, async ({ wallet }) => {
      const addresses = await wallet.keys()
      let failure: CommandError | undefined
      const held = await withProgress('Asking for balances', balances(options, addresses)).catch((error: Error) => {
        failure = new CommandError('failed', `there are no balances to be had: ${error.message}`, { cause: error })
        return undefined
      })
      const keys = addresses.map((address, index) => ({ address, ...held?.[index] }))
      if (options.json) {
        process.stdout.write(`${JSON.stringify({ wallet: { id: wallet.id, name: wallet.name }, keys })}\n`)
      } else if (keys.length > 0) process.stdout.write(columns(keys.map(row)))
      else process.stderr.write(`There is no key in ${quoted(wallet.name)} yet; latchkey key new makes one.\n`)
      // The addresses are good all the same.
      if (failure !== undefined) throw failure
      return exitCodes.ok
    }),
})

function row({ address, algos, dollars }: { address: string } & Partial<Balance>): string[] {
  if (algos === undefined) return [address]
  return [address, `${algos} ALGO`, dollars === undefined || dollars === null ? '' : `$${dollars}`]
}
