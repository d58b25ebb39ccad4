/** Prices as people write them, and the base units they come to. Never through a floating point number. */

/** `"$0.01"`, `"0.01"`, `"1.50 USDC"`, `0.01`. */
export type Money = string | number

/** So many base units of an asset, named by its number; `0` is the Algo. */
export type AssetAmount = {
  readonly asset: string
  readonly amount: string
  readonly extra?: { readonly [name: string]: unknown } | undefined
}

export type Price = Money | AssetAmount

export type ParsedMoney = { readonly whole: string; readonly fraction: string; readonly ticker: string | undefined }

const money = /^\$? *([0-9]{1,20})(?:\.([0-9]{1,40}))?(?: +([A-Za-z][A-Za-z0-9]{0,11}))?$/

export function parse(price: Money): ParsedMoney {
  const text = typeof price === 'number' ? numberText(price) : price.trim()
  const match = money.exec(text)
  if (match === null) throw new PriceError(`${JSON.stringify(price)} is no price; write it like "$0.01"`)
  const ticker = match[3]?.toUpperCase()
  return { whole: match[1]!, fraction: match[2] ?? '', ticker: ticker === 'USD' ? undefined : ticker }
}

/** Without an exponent, which `String` writes for the very small. */
function numberText(price: number): string {
  if (!Number.isFinite(price) || price < 0) throw new PriceError(`${price} is no price`)
  const text = String(price)
  return text.includes('e') ? price.toFixed(20).replace(/0+$/, '') : text
}

/** Exactly; a price that an asset cannot express is an error at the seller's start, and nothing is ever free by rounding. */
export function baseUnits(price: Money, decimals: number): bigint {
  const { whole, fraction } = parse(price)
  const significant = fraction.replace(/0+$/, '')
  if (significant.length > decimals) {
    throw new PriceError(`${JSON.stringify(price)} has more decimals than the ${decimals} of the asset it is paid in`)
  }
  const units = BigInt(whole + significant.padEnd(decimals, '0'))
  if (units === 0n) throw new PriceError(`${JSON.stringify(price)} is nothing; leave the route free instead`)
  return units
}

/** For people: base units as an amount. */
export function text(units: bigint, decimals: number): string {
  const digits = units.toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const whole = digits.slice(0, digits.length - decimals)
  return fraction === '' || decimals === 0 ? whole : `${whole}.${fraction}`
}

export class PriceError extends Error {
  override name = 'Price.PriceError'
}
