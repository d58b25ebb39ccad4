/** Links to a block explorer of the public networks. */
import * as Network from './Network.js'

const origin = 'https://lora.algokit.io'

/** Public networks that the explorer shows. */
const shown: readonly Network.Network[] = [Network.mainnet, Network.testnet, Network.betanet]

/**
 * Returns the page of a transaction, or undefined on a local network.
 *
 * @example
 * Explorer.transactionUrl('testnet', id) // 'https://lora.algokit.io/testnet/transaction/…'
 */
export function transactionUrl(network: string, transactionId: string): string | undefined {
  return pageUrl(network, 'transaction', transactionId)
}

/** Returns the page of an account, or undefined on a local network. */
export function accountUrl(network: string, address: string): string | undefined {
  return pageUrl(network, 'account', address)
}

/** Returns the page of an asset, or undefined on a local network. */
export function assetUrl(network: string, assetId: bigint): string | undefined {
  return pageUrl(network, 'asset', String(assetId))
}

function pageUrl(nameOrId: string, kind: string, id: string): string | undefined {
  const caip2 = Network.normalize(nameOrId)
  const network = shown.find((one) => one.name === nameOrId || one.caip2 === caip2)
  return network === undefined ? undefined : `${origin}/${network.name}/${kind}/${encodeURIComponent(id)}`
}
