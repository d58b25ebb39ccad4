/** Reads the amount that a person types, with or without its unit. */
import { Amount } from '@latchkey/algorand'
import { unitOf } from './amount.js'

/** The asset of an amount; the id 0 is ALGO. */
export type Unit = { assetId: string; unitName: string; decimals: number }

export type AmountInput = { units: bigint } | { error: string }

const maxUint64 = 2n ** 64n - 1n

export const algo: Unit = { assetId: '0', unitName: 'ALGO', decimals: Amount.algoDecimals }

/** Returns the amount in base units, or the problem with the text. */
export function readAmount(text: string, unit: Unit): AmountInput {
  const name = unitOf(unit)
  if (text.trim() === '') return { error: 'Enter an amount.' }
  const quantity = Amount.split(text)
  if (quantity === undefined) return { error: `This is not an amount. Write it as 2.5 or 1,000 ${name}.` }
  if (quantity.unit !== undefined && !isUnit(quantity.unit, unit)) {
    return { error: `The amount is in ${quantity.unit}, but the asset is ${name}. Choose the asset above.` }
  }
  const units = Amount.parse(quantity.number, unit.decimals)
  if (units === undefined) return { error: decimalsText(name, unit.decimals) }
  if (units === 0n) return { error: 'Enter an amount above 0.' }
  return units > maxUint64 ? { error: 'The amount is too large.' } : { units }
}

function isUnit(given: string, { assetId, unitName }: Unit): boolean {
  return given.toLowerCase() === unitName.toLowerCase() || given === `#${assetId}`
}

function decimalsText(name: string, decimals: number): string {
  if (decimals === 0) return `${name} cannot be divided: enter a whole number.`
  return `${name} has at most ${decimals} ${decimals === 1 ? 'decimal' : 'decimals'}.`
}
