/** Texts of the seller's page. */
import { Amount, Network } from '@latchkey/algorand'
import { clip } from './escape.js'

const dayMs = 86_400_000
const maxUnitLength = 40

/** The asset of an amount. */
export type SalesAsset = {
  /** The canonical CAIP-2 id. */
  readonly network: string
  readonly asset: string
  readonly assetName: string
  readonly decimals: number | undefined
}

/** An amount with its unit: `$0.50 USDC`, `1.25 ALGO`, or base units if the decimals are unknown. */
export function formatAmount(amount: bigint, asset: SalesAsset): string {
  const unit = clip(asset.assetName, maxUnitLength)
  if (asset.decimals === undefined) return `${Amount.group(String(amount))} base units of ${unit}`
  return `${isDollar(asset) ? Amount.formatDollars(amount) : Amount.formatGrouped(amount, asset.decimals)} ${unit}`
}

const dollarDecimals = 6

/** On a public network only its own USDC is a dollar. On a local network, where money is worth nothing, the name decides. */
function isDollar({ network, asset, assetName, decimals }: SalesAsset): boolean {
  if (decimals !== dollarDecimals) return false
  const known = Network.known.find(({ caip2 }) => caip2 === network)
  return known === undefined ? assetName === 'USDC' : String(known.usdcAssetId) === asset
}

/** A day, like `2026-11-16`. */
export function formatDay(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}

/** A time, like `2026-11-16 02:09:44`. */
export function formatTime(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')
}

export function plural(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

/** An address or an id, short enough for a column. */
export function shorten(id: string): string {
  return id.length <= 16 ? id : `${id.slice(0, 7)}…${id.slice(-6)}`
}
