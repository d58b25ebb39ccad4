import { encodeBase64 } from '#platform'
import * as Amount from '../../Amount.js'
import * as Network from '../../Network.js'
import type { Transaction } from '../../Transaction.js'
import { quoted } from './format.js'

/** The display parameters of an asset. */
export type Asset = { decimals: number; unitName: string }

type Warning = { text: string; isFinal: boolean }

const maxUnitCharacters = 8
/** Units of value on public networks, whose names other assets imitate. */
const imitatedUnits: ReadonlySet<string> = new Set(['ALGO', 'USDC'])

/** Collects the lines and warnings that describe one transaction. */
export class DescriptionBuilder {
  readonly transaction: Transaction
  /** The public network of the transaction, or undefined for a local one. */
  readonly network: Network.Network | undefined
  readonly lines: string[] = []
  readonly #warnings: Warning[] = []
  readonly #assets: ReadonlyMap<bigint, Asset>

  constructor(transaction: Transaction, assets: ReadonlyMap<bigint, Asset>) {
    this.transaction = transaction
    this.#assets = assets
    const hash = transaction.gh === undefined ? undefined : encodeBase64(transaction.gh)
    this.network = Network.known.find(({ genesisHash }) => genesisHash === hash)
  }

  add(text: string): void {
    this.lines.push(text)
  }

  warn(text: string): void {
    this.#warn(text, false)
  }

  /** Adds a warning about an irreversible effect. */
  warnFinal(text: string): void {
    this.#warn(text, true)
  }

  #warn(text: string, isFinal: boolean): void {
    if (!this.#warnings.some((known) => known.text === text)) this.#warnings.push({ text, isFinal })
  }

  /** Warnings about irreversible effects come first. */
  get warnings(): string[] {
    return [...this.finalWarnings, ...this.#warnings.filter(({ isFinal }) => !isFinal).map(({ text }) => text)]
  }

  get finalWarnings(): string[] {
    return this.#warnings.filter(({ isFinal }) => isFinal).map(({ text }) => text)
  }

  assetAmount(units: bigint, id: bigint): string {
    const asset = this.#asset(id)
    if (asset === undefined) return `${Amount.group(String(units))} base unit${units === 1n ? '' : 's'} of asset ${id}`
    return `${Amount.formatGrouped(units, asset.decimals)} ${unitText(asset.unitName)} (asset ${id})`
  }

  assetName(id: bigint): string {
    const asset = this.#asset(id)
    return asset === undefined ? `asset ${id}` : `${unitText(asset.unitName)} (asset ${id})`
  }

  #asset(id: bigint): Asset | undefined {
    if (id !== 0n && this.network?.usdcAssetId === id) return { decimals: 6, unitName: 'USDC' }
    const asset = this.#assets.get(id)
    if (asset === undefined || asset.unitName === '') return undefined
    if (!Number.isInteger(asset.decimals) || asset.decimals < 0 || asset.decimals > Amount.maxDecimals) return undefined
    // Names of assets are not unique: anyone can create an asset with any name.
    if (this.network !== undefined && imitatedUnits.has(asset.unitName.trim().toUpperCase())) {
      this.warn(
        `Asset ${id} is named ${quoted(asset.unitName)}, but is not the asset known by that name: only the id identifies it.`,
      )
    }
    return asset
  }
}

/** The name of a unit, quoted unless it is one plain word. */
export function unitText(name: string): string {
  return /^[A-Za-z0-9]{1,8}$/.test(name) ? name : quoted([...name].slice(0, maxUnitCharacters).join(''))
}
