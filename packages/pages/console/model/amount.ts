/** Formats amounts for people. Amounts are decimal strings or bigints: they can exceed 2^53. */
import { Amount } from '@latchkey/algorand'

const algoUnit = 'ALGO'

/** Formats base units exactly, with thousands separators and without trailing zeros. */
export function format(units: bigint | string, decimals: number): string {
  const [whole, fraction] = Amount.format(BigInt(units), decimals).split('.')
  const grouped = whole!.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

export function formatAlgos(microAlgos: bigint | string): string {
  return `${format(microAlgos, Amount.algoDecimals)} ${algoUnit}`
}

/** The unit name of an asset, or its id if it has none. */
export function unitOf(asset: { assetId: string; unitName: string }): string {
  if (asset.unitName !== '') return asset.unitName
  return asset.assetId === '0' ? algoUnit : `asset ${asset.assetId}`
}

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
