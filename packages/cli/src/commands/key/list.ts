/** `latchkey key list`: lists the addresses of a wallet's keys, with their balances if a node is given. */
import { Amount, Network } from '@latchkey/algorand'
import type { Chain } from '@latchkey/x402/client'
import { command, jsonOption } from '../../Command.js'
import { type ChainValues, chainOptions, openReadingChain } from '../../chain.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { explained } from '../../explained.js'
import { columns, quoted } from '../../format.js'
import { printJson, printMessage, printResult, withProgress } from '../../messages.js'

/** Decimals as strings. `dollars` is null if the account is not opted in to the asset. */
type Balance = { readonly algos: string; readonly dollars?: string | null }

const maxParallel = 8

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

/** Undefined if neither a network nor a node is given. */
async function balances(given: ChainValues, addresses: readonly string[]): Promise<Balance[] | undefined> {
  const { ALGOD_URL: url = '' } = process.env
  const isGiven = given.network !== undefined || given.node !== undefined || url !== ''
  if (!isGiven || addresses.length === 0) return undefined
  const chain = await openReadingChain(given, process.env)
  const dollar = chain.dollarAssetId ?? Network.parse(chain.caip2).network?.usdcAssetId
  const found: Balance[] = []
  for (let at = 0; at < addresses.length; at += maxParallel) {
    const batch = addresses.slice(at, at + maxParallel).map((address) => balance(chain, address, dollar))
    found.push(...(await Promise.all(batch)))
  }
  return found
}

async function balance(chain: Chain, address: string, dollar: bigint | undefined): Promise<Balance> {
  const [{ microAlgos }, holding, asset] = await Promise.all([
    chain.algod.account(address),
    dollar === undefined ? undefined : chain.algod.holding(address, dollar),
    dollar === undefined ? undefined : chain.asset(dollar),
  ])
  const algos = Amount.format(microAlgos, Amount.algoDecimals)
  if (asset === undefined) return { algos }
  return { algos, dollars: holding === undefined ? null : Amount.format(holding.amount, asset.decimals) }
}

function row({ address, algos, dollars }: { address: string } & Partial<Balance>): string[] {
  if (algos === undefined) return [address]
  return [
    address,
    `${Amount.group(algos)} ALGO`,
    dollars === undefined || dollars === null ? '' : `$${Amount.group(dollars)}`,
  ]
}
