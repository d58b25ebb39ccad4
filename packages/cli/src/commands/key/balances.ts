/** What addresses hold, asked of a node. */
import { Amount, Network } from '@latchkey/algorand'
import type { Chain } from '@latchkey/x402/client'
import { openChain } from '../../environment.js'

/** Decimal numbers as texts. No dollars (null): the account never opted in to the asset. */
export type Balance = { readonly algos: string; readonly dollars?: string | null }

type Given = Parameters<typeof openChain>[0]

const atOnce = 8
const algoDecimals = 6

/** Undefined where nobody named a network or a node. */
export async function balances(given: Given, addresses: readonly string[]): Promise<Balance[] | undefined> {
  const { ALGOD_URL: url = '', AVM_NETWORK: environment = '' } = process.env
  const isSaid = given.network !== undefined || given.node !== undefined || url !== ''
  if (!isSaid || addresses.length === 0) return undefined
  // A node by itself says which network it is of.
  const isByNode = given.network === undefined && environment === ''
  const chain = await openChain(
    isByNode ? { ...given, network: 'local', node: given.node ?? [url] } : given,
    process.env,
  )
  const dollar = chain.dollarAssetId ?? Network.parse(chain.caip2).network?.usdcAssetId
  const found: Balance[] = []
  for (let at = 0; at < addresses.length; at += atOnce) {
    const some = addresses.slice(at, at + atOnce).map((address) => balance(chain, address, dollar))
    found.push(...(await Promise.all(some)))
  }
  return found
}

async function balance(chain: Chain, address: string, dollar: bigint | undefined): Promise<Balance> {
  const [{ microAlgos }, holding, asset] = await Promise.all([
    chain.algod.account(address),
    dollar === undefined ? undefined : chain.algod.holding(address, dollar),
    dollar === undefined ? undefined : chain.asset(dollar),
  ])
  const algos = Amount.format(microAlgos, algoDecimals)
  if (asset === undefined) return { algos }
  return { algos, dollars: holding === undefined ? null : Amount.format(holding.amount, asset.decimals) }
}
