/** Reads the balances of addresses from a node. */
import { Amount, Network } from '@latchkey/algorand'
import type { Chain } from '@latchkey/x402/client'
import { type ChainValues, openReadingChain } from '../../chain.js'

/** Decimals as strings. `dollars` is null if the account is not opted in to the asset. */
export type Balance = { readonly algos: string; readonly dollars?: string | null }

const maxParallel = 8

/** Undefined if neither a network nor a node is given. */
export async function balances(given: ChainValues, addresses: readonly string[]): Promise<Balance[] | undefined> {
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
