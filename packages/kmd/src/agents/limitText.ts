/** Formats rules in command-line notation: `$5/day`, `2 ALGO/total`, `each $0.50`, `20 payments/hour`. */
import { Network, SpendLimit } from '@latchkey/algorand'
import type { Limit, NetworkItem, Rules } from './Agent.js'

/** The dollars that the owner declared, in addition to those of the public networks. */
export type Dollars = Rules['dollars']

/** A cache, because every signature names its limits, and limits stay the same objects. */
const texts = new WeakMap<Limit, { readonly dollars: Dollars; readonly text: string }>()

/** A limit as the owner writes it. */
export function limitText(limit: Limit, dollars: Dollars): string {
  const known = texts.get(limit)
  if (known?.dollars === dollars) return known.text
  const text = SpendLimit.format(limit, { dollarAssetId: dollarOf(limit.network, dollars) })
  texts.set(limit, { dollars, text })
  return text
}

/** An amount of an asset: `$0.50` of the network's dollar, `2 ALGO`, `10 asset 123` in its smallest unit. */
export function amountText({ network, id }: NetworkItem, amount: bigint, dollars: Dollars): string {
  return SpendLimit.formatAmount({ assetId: id, amount }, { dollarAssetId: dollarOf(network, dollars) })
}

/** The used quantity of a limit: an amount or a number of payments. */
export function quantityText(limit: Limit, quantity: bigint, dollars: Dollars): string {
  if (limit.type === 'count') return `${quantity}`
  return amountText({ network: limit.network, id: limit.assetId }, quantity, dollars)
}

/** The machine-readable unit of a limit. */
export function unitOf(limit: Limit, dollars: Dollars): string {
  return limit.type === 'count' ? 'payments' : assetUnit({ network: limit.network, id: limit.assetId }, dollars)
}

export function assetUnit({ network, id }: NetworkItem, dollars: Dollars): string {
  if (id === 0n) return 'ALGO'
  return id === dollarOf(network, dollars) ? 'USDC' : `asset ${id}`
}

/**
 * On a public network always its USDC, regardless of the owner's declaration: nothing else is shown as dollars there.
 */
export function dollarOf(network: string, dollars: Dollars): bigint | undefined {
  return publicDollar(network) ?? dollars.find((dollar) => dollar.network === network)?.id
}

export function publicDollar(network: string): bigint | undefined {
  return Network.known.find(({ genesisHash }) => genesisHash === network)?.usdcAssetId
}
