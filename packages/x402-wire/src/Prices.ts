/** Parses prices as people write them and converts them to base units, without floating point arithmetic. */
import { Amount } from '@latchkey/algorand'
import { WireError } from './errors.js'

/** An amount in dollars: `"$0.01"`, `"0.01"`, `"1.50 USDC"`, `0.01`. */
export type Money = string | number

/** An amount in base units of an asset, named by its id; `0` is the ALGO. */
export type AssetAmount = {
  /** The id of the asset, in decimal. */
  readonly asset: string
  /** Base units, in decimal. */
  readonly amount: string
  /** Members to add to `extra` of the payment requirements. */
  readonly extra?: { readonly [name: string]: unknown } | undefined
}

/** The price of a route: an amount in dollars, or base units of an asset. */
export type Price = Money | AssetAmount

type ParsedMoney = { readonly whole: string; readonly fraction: string; readonly ticker: string | undefined }

const money = /^\$? *([0-9]{1,20})(?:\.([0-9]{1,40}))?(?: +([A-Za-z][A-Za-z0-9]{0,11}))?$/

/**
 * Splits a price into its digits and its ticker. The ticker is undefined if there is none, or it is USD.
 *
 * @throws {@link PriceError}
 */
export function parse(price: Money): ParsedMoney {
  const text = typeof price === 'number' ? numberText(price) : price.trim()
  const match = money.exec(text)
  if (match === null) throw new PriceError('invalid_price', `${JSON.stringify(price)} is not a price`)
  const ticker = match[3]?.toUpperCase()
  return { whole: match[1]!, fraction: match[2] ?? '', ticker: ticker === 'USD' ? undefined : ticker }
}

/** Formats without an exponent, which `String` uses for very small numbers. */
function numberText(price: number): string {
  if (!Number.isFinite(price) || price < 0) throw new PriceError('invalid_price', `${price} is not a price`)
  const text = String(price)
  return text.includes('e') ? price.toFixed(20).replace(/0+$/, '') : text
}

/** The ledger has 64-bit integers. */
const maxUnits = 2n ** 64n - 1n

/**
 * Converts a price to exact base units. Throws if the asset cannot express the price, because rounding could make it
 * free.
 *
 * @throws {@link PriceError}
 */
export function baseUnits(price: Money, decimals: number): bigint {
  const { whole, fraction } = parse(price)
  const units = Amount.parse(fraction === '' ? whole : `${whole}.${fraction}`, decimals)
  if (units === undefined) {
    const message = `${JSON.stringify(price)} has too many decimals: the asset has ${decimals}`
    throw new PriceError('price_too_precise', message)
  }
  if (units === 0n) throw new PriceError('zero_price', `${JSON.stringify(price)} is zero`)
  if (units > maxUnits)
    throw new PriceError('invalid_price', `${JSON.stringify(price)} is more than any account can hold`)
  return units
}

/** A price that cannot be parsed, or cannot be paid in the asset. */
export class PriceError extends WireError<'invalid_price' | 'price_too_precise' | 'zero_price' | 'wrong_currency'> {
  override name = 'PriceError'
}
