/** Amounts of ALGO and of assets: base units as exact decimals, never as floating point numbers. */

/** The decimals of ALGO. */
export const algoDecimals = 6
const dollarDecimals = 6

/** The maximum number of decimals of an asset. */
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

/**
 * Adds thousands separators to the whole part of a decimal. The text after the number is not changed.
 *
 * @example
 * Amount.group('1234567.8901') // '1,234,567.8901'
 */
export function group(decimal: string): string {
  const [whole = ''] = /^-?[0-9]*/.exec(decimal) ?? []
  return whole.replace(/\B(?=(?:[0-9]{3})+$)/g, ',') + decimal.slice(whole.length)
}

/**
 * Base units as people read them: a decimal with thousands separators. Programs read {@link format}.
 *
 * @example
 * Amount.formatGrouped(1_234_567_500_000n, 6) // '1,234,567.5'
 */
export function formatGrouped(units: bigint, decimals: number): string {
  return group(format(units, decimals))
}

/**
 * MicroAlgos as people read them, with their unit.
 *
 * @example
 * Amount.formatAlgos(1_500_000_000n) // '1,500 ALGO'
 */
export function formatAlgos(microAlgos: bigint): string {
  return `${formatGrouped(microAlgos, algoDecimals)} ALGO`
}

/**
 * Millionths of a dollar as people read them, with no decimals or at least two.
 *
 * @example
 * Amount.formatDollars(1_234_500_000n) // '$1,234.50'
 */
export function formatDollars(microDollars: bigint): string {
  const isNegative = microDollars < 0n
  const [whole, fraction] = formatGrouped(isNegative ? -microDollars : microDollars, dollarDecimals).split('.')
  const decimals = fraction === undefined ? '' : `.${fraction.padEnd(2, '0')}`
  return `${isNegative ? '-' : ''}$${whole}${decimals}`
}

/**
 * Returns the base units of a decimal such as `1.5`, or undefined for anything else and for too many decimals.
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

/** A number and its unit, if one was given. */
export type Quantity = { readonly number: string; readonly unit: string | undefined }

/**
 * Splits an amount as a person writes it into its number and its unit, which is a unit name or `#` and an asset id.
 * Commas group thousands and are removed from the number. Returns undefined for anything that is not an amount.
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
