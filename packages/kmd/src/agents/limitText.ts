/** Rules in the words of the command line: `$5/day`, `2 ALGO/total`, `each $0.50`, `20 payments/hour`. */
import { Amount, Network } from '@latchkey/algorand'
import type { Limit } from './Agent.js'

/** USDC and Algos have six decimals each. */
const dollarDecimals = 6
const cents = 2

/** A limit as the owner writes it. */
export function limitText(limit: Limit): string {
  const amount = limit.type === 'count' ? `${limit.count} payments` : amountText(limit, limit.amount)
  const payee = limit.payee === undefined ? '' : ` to ${limit.payee}`
  return limit.per === 'payment' ? `each ${amount}${payee}` : `${amount}/${limit.per}${payee}`
}

/** An amount of an asset: `$0.50` of the network's USDC, `2 ALGO`, `10 asset 123` in its smallest unit. */
export function amountText({ network, assetId }: { network: string; assetId: bigint }, amount: bigint): string {
  if (isDollar(network, assetId)) return `$${withCents(Amount.format(amount, dollarDecimals))}`
  return assetId === 0n ? Amount.formatAlgos(amount) : `${amount} asset ${assetId}`
}

/** The unit of a limit for programs. */
export function unitOf(limit: Limit): string {
  return limit.type === 'count' ? 'payments' : assetUnit(limit.network, limit.assetId)
}

export function assetUnit(network: string, assetId: bigint): string {
  if (isDollar(network, assetId)) return 'USDC'
  return assetId === 0n ? 'ALGO' : `asset ${assetId}`
}

function isDollar(network: string, assetId: bigint): boolean {
  return Network.known.some(({ genesisHash, usdcAssetId }) => genesisHash === network && usdcAssetId === assetId)
}

/** Whole dollars stay as they are; parts have at least two decimals. */
function withCents(decimal: string): string {
  const [whole, fraction] = decimal.split('.')
  return fraction === undefined ? whole! : `${whole}.${fraction.padEnd(cents, '0')}`
}
