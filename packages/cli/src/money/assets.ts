/** Assets and amounts in people's notation: `2.5 USDC`, `1 ALGO`, `7 #1234`. */

import type { AccountHoldings } from '@latchkey/algod'
import { Amount } from '@latchkey/algorand'
import { type Chain, ChainError } from '@latchkey/x402/client'
import { CommandError, UsageError } from '../errors.js'
import { quoted } from '../format.js'

export type Asset = {
  /** 0 is ALGO. */
  readonly assetId: bigint
  readonly decimals: number
  /** The unit that the creator chose, or `#` and the id if there is none. */
  readonly unit: string
}

export type AssetAmount = { readonly asset: Asset; readonly units: bigint }

export const algo: Asset = { assetId: 0n, decimals: Amount.algoDecimals, unit: 'ALGO' }

const maxUnits = 2n ** 64n - 1n
const maxListed = 10

/**
 * Reads an amount with its unit.
 *
 * @param holder the account whose assets the unit may name
 * @throws UsageError for an invalid amount or a missing unit
 */
export async function readAmount(chain: Chain, text: string, holder?: AccountHoldings): Promise<AssetAmount> {
  const quantity = Amount.split(text)
  if (quantity === undefined) {
    throw new UsageError(`${quoted(text.slice(0, 80))} is not an amount`, {
      code: 'invalid_value',
      hint: "write it with its unit, like '2.5 USDC', '1 ALGO' or '7 #1234'",
    })
  }
  const { number, unit } = quantity
  if (unit === undefined) {
    throw new UsageError(`the amount ${number} has no unit`, {
      code: 'invalid_value',
      hint: `write it as '${number} ALGO', '${number} USDC', or '${number} #ID' for any asset`,
    })
  }
  const asset = await findAsset(chain, unit, holder)
  const units = Amount.parse(number, asset.decimals)
  if (units === undefined) {
    const digits = asset.decimals === 1 ? '1 decimal' : `${asset.decimals} decimals`
    throw new UsageError(`${number} has too many decimals: ${nameOf(asset)} has ${digits}`, { code: 'invalid_value' })
  }
  if (units === 0n) throw new UsageError('the amount is zero', { code: 'invalid_value' })
  if (units > maxUnits)
    throw new UsageError('the amount exceeds the maximum supply of an asset', { code: 'invalid_value' })
  return { asset, units }
}

/**
 * Finds the asset that a text names: `ALGO`, the dollar of the network, an id with or without `#`, or the unit of an
 * asset that `holder` has. Units are not unique: a unit that matches several assets is refused, except for the
 * network's dollar.
 */
export async function findAsset(chain: Chain, text: string, holder?: AccountHoldings): Promise<Asset> {
  const [, digits] = /^#?([0-9]{1,19})$/.exec(text) ?? []
  if (digits !== undefined) return assetById(chain, BigInt(digits))
  if (isSame(text, algo.unit)) return algo
  const dollar = await dollarOf(chain)
  if (dollar !== undefined && (isSame(text, dollar.unit) || isSame(text, 'USDC'))) return dollar
  return assetByUnit(chain, text, holder)
}

async function assetByUnit(chain: Chain, text: string, holder: AccountHoldings | undefined): Promise<Asset> {
  const held =
    holder === undefined ? [] : await Promise.all(holder.holdings.map((one) => assetOfHolding(chain, one.assetId)))
  const found = held.filter(({ unit }) => isSame(text, unit))
  const isComplete = holder === undefined || holder.holdingCount === holder.holdings.length
  if (found.length === 1 && isComplete) return found[0]!
  if (found.length > 1) {
    const list = shortList(found)
    throw new CommandError('asset_ambiguous', `${quoted(text)} matches several assets: ${list}`, {
      hint: `name the asset by its id, like '#${found[0]!.assetId}'`,
    })
  }
  const names = shortList(held)
  const known = names === '' ? '' : `; the account holds ${names}`
  throw new CommandError('asset_not_found', `no asset with the unit ${quoted(text.slice(0, 40))} was found${known}`, {
    hint: "name the asset by its id, like '#1234'",
  })
}

/** Returns the asset that represents a dollar on the network, or undefined if there is none. */
export async function dollarOf(chain: Chain): Promise<Asset | undefined> {
  return chain.dollarAssetId === undefined ? undefined : assetById(chain, chain.dollarAssetId)
}

/** @throws ChainError if the asset does not exist */
export async function assetById(chain: Chain, assetId: bigint): Promise<Asset> {
  if (assetId === 0n) return algo
  const { decimals, name } = await chain.asset(assetId)
  return { assetId, decimals, unit: name === `asset ${assetId}` ? `#${assetId}` : name }
}

/** Returns the asset of a holding. The holding of a destroyed asset remains, in base units. */
export async function assetOfHolding(chain: Chain, assetId: bigint): Promise<Asset> {
  try {
    return await assetById(chain, assetId)
  } catch (error) {
    if (error instanceof ChainError && error.code === 'unknown_asset')
      return { assetId, decimals: 0, unit: `#${assetId}` }
    throw error
  }
}

/** Formats an amount with its unit, without the id: `2.5 USDC`. */
export function formatAmount({ asset, units }: AssetAmount): string {
  return `${Amount.formatGrouped(units, asset.decimals)} ${unitOf(asset)}`
}

/** Quotes the unit unless it is a plain word, because its creator chose it and may have chosen that of ALGO. */
export function unitOf({ assetId, unit }: Pick<Asset, 'assetId' | 'unit'>): string {
  const isImitation = assetId !== 0n && isSame(unit, algo.unit)
  if (isImitation) return `"${unit}"`
  return unit === `#${assetId}` ? unit : quoted(unit)
}

function shortList(assets: readonly Pick<Asset, 'assetId' | 'unit'>[]): string {
  const more = assets.length > maxListed ? ` and ${assets.length - maxListed} more` : ''
  return `${assets.slice(0, maxListed).map(nameOf).join(', ')}${more}`
}

/** The unit, which any asset can have, and the id, which is unique. */
export function nameOf({ assetId, unit }: Pick<Asset, 'assetId' | 'unit'>): string {
  if (assetId === 0n) return unit
  return unit === `#${assetId}` ? `asset ${assetId}` : `${unitOf({ assetId, unit })} (asset ${assetId})`
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
