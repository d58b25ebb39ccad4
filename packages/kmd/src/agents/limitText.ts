/** Rules in the words of the command line: `$5/day`, `2 ALGO/total`, `each $0.50`, `20 payments/hour`. */
import { Network, SpendLimit } from '@latchkey/algorand'
import type { Limit } from './Agent.js'

/** Each signature names its limits, and limits stay the same objects. */
const texts = new WeakMap<Limit, string>()

/** A limit as the owner writes it. */
export function limitText(limit: Limit): string {
  const known = texts.get(limit)
  if (known !== undefined) return known
  const text = SpendLimit.format(limit, { dollarAssetId: dollarOf(limit.network) })
  texts.set(limit, text)
  return text
}

/** An amount of an asset: `$0.50` of the network's USDC, `2 ALGO`, `10 asset 123` in its smallest unit. */
export function amountText({ network, assetId }: { network: string; assetId: bigint }, amount: bigint): string {
  return SpendLimit.formatAmount({ assetId, amount }, { dollarAssetId: dollarOf(network) })
}

/** The unit of a limit for programs. */
export function unitOf(limit: Limit): string {
  return limit.type === 'count' ? 'payments' : assetUnit(limit.network, limit.assetId)
}

export function assetUnit(network: string, assetId: bigint): string {
  if (assetId === 0n) return 'ALGO'
  return assetId === dollarOf(network) ? 'USDC' : `asset ${assetId}`
}

function dollarOf(network: string): bigint | undefined {
  return Network.known.find(({ genesisHash }) => genesisHash === network)?.usdcAssetId
}
