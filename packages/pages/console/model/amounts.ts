/** Amounts as people read them. They come as text and pass what a JavaScript number can hold. */
export const algo = { unit: 'ALGO', decimals: 6 } as const

/** Exact: every digit that counts, thousands apart. */
export function format(units: bigint | string, decimals: number): string {
  const value = BigInt(units)
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, ',')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

export function formatAlgo(microAlgos: bigint | string): string {
  return `${format(microAlgos, algo.decimals)} ${algo.unit}`
}

/** An asset without a unit name is called by its number. */
export function unitOf(asset: { assetId: string; unitName: string }): string {
  if (asset.unitName !== '') return asset.unitName
  return asset.assetId === '0' ? algo.unit : `asset ${asset.assetId}`
}

/** How much of the whole a part is, for drawing only. */
export function ratio(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 10_000n) / whole) / 10_000
}

/** The next round figure at or above: 1, 2 or 5 and zeros. The top of an axis. */
export function roundUp(value: bigint): bigint {
  if (value <= 1n) return 1n
  const power = 10n ** BigInt(value.toString().length - 1)
  return [1n, 2n, 5n, 10n].map((step) => step * power).find((step) => step >= value)!
}
