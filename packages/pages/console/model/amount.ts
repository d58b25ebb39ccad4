/** Formats amounts for people. Amounts are decimal strings or bigints: they can exceed 2^53. */
import { Amount, VisibleText } from '@latchkey/algorand'

const algoUnit = 'ALGO'

/** Formats base units exactly, with thousands separators and without trailing zeros. */
export function format(units: bigint | string, decimals: number): string {
  return Amount.formatGrouped(BigInt(units), decimals)
}

export function formatAlgos(microAlgos: bigint | string): string {
  return Amount.formatAlgos(BigInt(microAlgos))
}

/**
 * The unit name of an asset, or its id if it has none. The creator chose the name, so it is quoted unless it is one
 * plain word that differs from the ledger's own unit.
 */
export function unitOf({ assetId, unitName }: { assetId: string; unitName: string }): string {
  if (assetId === '0') return algoUnit
  if (unitName === '') return `asset ${assetId}`
  const isPlain = /^[A-Za-z0-9]{1,8}$/.test(unitName) && unitName.toUpperCase() !== algoUnit
  return isPlain ? unitName : quote(unitName)
}

type AssetUnit = { assetId: string; unitName: string; decimals: number }

/**
 * Formats an amount with its unit: `$0.50 USDC` for the dollar assets of the network, `0.5 ALGO` otherwise. The unit
 * stays visible, because a network can have several dollar assets.
 */
export function formatMoney(units: bigint | string, asset: AssetUnit, dollarIds: readonly string[]): string {
  const isDollar = asset.decimals === dollarDecimals && dollarIds.includes(asset.assetId)
  const amount = isDollar ? Amount.formatDollars(BigInt(units)) : format(units, asset.decimals)
  return `${amount} ${unitOf(asset)}`
}

const dollarDecimals = 6

/** Quotes untrusted text, without characters that are invisible or reorder the surrounding text. */
export function quote(text: string): string {
  const visible = VisibleText.replaceHidden(text).replace(/["“”]/gu, '\ufffd')
  return `“${[...visible].slice(0, maxQuoted).join('')}”`
}

const maxQuoted = 32

/** The share of the whole, rounded to four decimals: for drawing only. */
export function ratio(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 10_000n) / whole) / 10_000
}

/** The next of 1, 2, 5, 10, 20, 50, ... at or above the value: the top of an axis. */
export function roundUp(value: bigint): bigint {
  if (value <= 1n) return 1n
  const power = 10n ** BigInt(value.toString().length - 1)
  return [1n, 2n, 5n, 10n].map((step) => step * power).find((step) => step >= value)!
}
