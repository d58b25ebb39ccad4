/** Amounts of ALGO and of assets: base units as exact decimals, never through a floating point number. */

/** The decimals of ALGO. */
export const algoDecimals = 6

/** The most decimals that an asset can have. */
export const maxDecimals = 19

/**
 * Base units as a decimal without trailing zeros.
 *
 * @example
 * Amount.format(1_500_000n, 6) // '1.5'
 */
export function format(units: bigint, decimals: number): string {
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  const fraction = digits.slice(point).replace(/0+$/, '')
  return `${sign}${digits.slice(0, point)}${fraction === '' ? '' : `.${fraction}`}`
}

/** MicroAlgos with their unit: `1.5 ALGO`. */
export function formatAlgos(microAlgos: bigint): string {
  return `${format(microAlgos, algoDecimals)} ALGO`
}

/**
 * The base units of a decimal such as `1.5`; undefined for anything else and for too many decimals.
 *
 * @example
 * Amount.parse('1.5', 6) // 1_500_000n
 */
export function parse(text: string, decimals: number): bigint | undefined {
  const match = /^([0-9]{1,20})(?:\.([0-9]{1,40}))?$/.exec(text)
  if (match === null) return undefined
  const fraction = (match[2] ?? '').replace(/0+$/, '')
  return fraction.length > decimals ? undefined : BigInt(match[1]! + fraction.padEnd(decimals, '0'))
}

/** A number and the unit that was given with it. */
export type Quantity = { readonly number: string; readonly unit: string | undefined }

/**
 * Splits what a person writes for an amount into its number and its unit, which is a unit name or `#` and an asset id.
 * Commas group thousands and are left out of the number; undefined for anything that is no amount.
 *
 * @example
 * Amount.split('2.5 USDC') // { number: '2.5', unit: 'USDC' }
 * Amount.split('1,000') // { number: '1000', unit: undefined }
 */
export function split(text: string): Quantity | undefined {
  const match = /^ *([0-9]{1,20}|[0-9]{1,3}(?:,[0-9]{3}){1,6})(\.[0-9]{1,40})?(?: *([^\s0-9.,]\S{0,39}))? *$/u.exec(
    text,
  )
  if (match === null) return undefined
  return { number: match[1]!.replaceAll(',', '') + (match[2] ?? ''), unit: match[3] }
}
