/** `latchkey key list`: lists the addresses of a wallet's keys, with their balances if a node is given. */
import { command, jsonOption } from '../../Command.js'
import { chainOptions } from '../../chain.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { explained } from '../../explained.js'
import { columns, quoted } from '../../format.js'
import { printJson, printMessage, printResult } from '../../messages.js'
import { withProgress } from '../../progress.js'
import { type Balance, balances } from './balances.js'

export const keyListCommand = command({
  description:
    'List the addresses of the keys in a wallet, with their balances in ALGO and dollars if a network or a node is given.',
  options: {
    ...walletOptions,
    network: {
      ...chainOptions.network,
      description: 'show balances on testnet, mainnet, betanet, local, or a CAIP-2 id',
    },
    node: { ...chainOptions.node, description: 'show balances from this algod; repeatable for failover' },
    dollar: chainOptions.dollar,
    ...jsonOption,
  },
  examples: ['latchkey key list', 'latchkey key list --wallet savings --network testnet'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options }) =>
    withWallet(options, async ({ wallet }) => {
      const addresses = await wallet.keys()
      let failure: CommandError | undefined
      const held = await withProgress('Reading balances', balances(options, addresses)).catch((cause: unknown) => {
        const { message, hint } = explained(cause)
        failure = new CommandError('balances_unavailable', `the balances cannot be read: ${message}`, { hint, cause })
        return undefined
      })
      const keys = addresses.map((address, index) => ({ address, ...held?.[index] }))
      if (options.json) {
        printJson({ wallet: { id: wallet.id, name: wallet.name }, keys })
      } else if (keys.length > 0) printResult(columns(keys.map(row)))
      else printMessage(`The wallet ${quoted(wallet.name)} has no key yet. To generate one: latchkey key new`)
      // Thrown after the addresses, which are known, were printed.
      if (failure !== undefined) throw failure
      return exitCodes.ok
    }),
})

function row({ address, algos, dollars }: { address: string } & Partial<Balance>): string[] {
  if (algos === undefined) return [address]
  return [address, `${algos} ALGO`, dollars === undefined || dollars === null ? '' : `$${dollars}`]
}
