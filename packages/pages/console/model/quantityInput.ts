/** The amount of a limit as form fields: a number, its unit, and for other assets their id. */
import { Amount } from '@latchkey/algorand'
import { bounds, type Limit, parseId } from '@latchkey/kmd-api/rules'

/** The unit of the number. */
export type QuantityUnit = 'dollars' | 'algo' | 'payments' | 'asset'

export type QuantityInput = {
  amount: string
  unit: QuantityUnit
  /** The id of another asset; blank for the other units. */
  assetId: string
}

export type Quantity = { type: 'amount'; assetId: bigint; amount: bigint } | { type: 'count'; count: number }

type Dollar = { dollarAssetId: bigint | undefined }

const names: { readonly [unit in QuantityUnit]: string } = {
  dollars: 'Dollars',
  algo: 'ALGO',
  payments: 'Payments',
  asset: 'Another asset',
}

/** The names of the units of a network, which may have no dollar asset. */
export function unitNames({ dollarAssetId }: Dollar, { hasCount }: { hasCount: boolean }): [QuantityUnit, string][] {
  const units: readonly QuantityUnit[] = ['dollars', 'algo', 'payments', 'asset']
  return units
    .filter((unit) => (unit !== 'dollars' || dollarAssetId !== undefined) && (unit !== 'payments' || hasCount))
    .map((unit) => [unit, names[unit]])
}

export function blankQuantity({ dollarAssetId }: Dollar): QuantityInput {
  return { amount: '', unit: dollarAssetId === undefined ? 'algo' : 'dollars', assetId: '' }
}

/** Returns the fields that represent a quantity. */
export function toInput(quantity: Quantity, { dollarAssetId }: Dollar): QuantityInput {
  if (quantity.type === 'count') return { amount: String(quantity.count), unit: 'payments', assetId: '' }
  const { assetId, amount } = quantity
  const isDollars = assetId === dollarAssetId
  if (!isDollars && assetId !== 0n) return { amount: String(amount), unit: 'asset', assetId: String(assetId) }
  // Dollars and ALGO have the same number of decimals.
  const [whole, fraction] = Amount.format(amount, Amount.algoDecimals).split('.')
  const cents = isDollars ? fraction?.padEnd(2, '0') : fraction
  return {
    amount: cents === undefined ? whole! : `${whole}.${cents}`,
    unit: isDollars ? 'dollars' : 'algo',
    assetId: '',
  }
}

/** Returns the quantity of a limit without its period, network and payee. */
export function quantityOfLimit(limit: Limit): Quantity {
  if (limit.type === 'count') return { type: 'count', count: limit.count }
  return { type: 'amount', assetId: limit.assetId, amount: limit.amount }
}

/**
 * Reads the fields. A unit that is typed with the number is accepted if it is the selected one.
 *
 * @throws QuantityError with a sentence for the person.
 */
export function readQuantity({ amount: text, unit, assetId }: QuantityInput, { dollarAssetId }: Dollar): Quantity {
  const number = numberOf(text, unit)
  if (unit === 'payments') {
    const count = Amount.parse(number, 0)
    if (count === undefined || count === 0n || count > BigInt(bounds.count)) {
      throw new QuantityError('Enter a whole number of payments, at least 1.')
    }
    return { type: 'count', count: Number(count) }
  }
  if (unit === 'asset') {
    const id = parseId(assetId.trim())
    if (id === undefined) throw new QuantityError('Enter the id of the asset, which is a number.')
    return {
      type: 'amount',
      assetId: id,
      amount: unitsOf(number, 0, 'Enter a whole number of the asset’s smallest unit.'),
    }
  }
  if (unit === 'dollars' && dollarAssetId === undefined) throw new QuantityError('This network has no dollar asset.')
  const problem = `Enter a number with at most ${Amount.algoDecimals} decimals, such as ${unit === 'dollars' ? '0.50' : '2.5'}.`
  const id = unit === 'dollars' ? dollarAssetId! : 0n
  return { type: 'amount', assetId: id, amount: unitsOf(number, Amount.algoDecimals, problem) }
}

/** The unit that a person may type with the number. */
const typedUnits: { readonly [unit in QuantityUnit]: RegExp } = {
  dollars: /^\$|\s*(?:USDC?|dollars?)$/i,
  algo: /\s*ALGOS?$/i,
  payments: /\s*payments?$/i,
  asset: /(?!)/,
}

function numberOf(text: string, unit: QuantityUnit): string {
  const number = text.trim().replace(typedUnits[unit], '').trim()
  if (number === '') throw new QuantityError('Enter an amount.')
  return number.replaceAll(/(?<=\d),(?=\d{3}(?:\D|$))/g, '')
}

function unitsOf(number: string, decimals: number, problem: string): bigint {
  const amount = Amount.parse(number, decimals)
  if (amount === undefined || amount > bounds.integer) throw new QuantityError(problem)
  return amount
}

/** The fields are not an amount. */
export class QuantityError extends Error {
  override name = 'QuantityError'
}
