import { encodeBase64 } from '#platform'
import * as Network from '../../Network.js'
import type { Transaction } from '../../Transaction.js'
import { decimal, quoted } from './format.js'

export type Asset = { decimals: number; unitName: string }

type Warning = { text: string; isFinal: boolean }

/** The most decimals that the ledger lets an asset have. */
const maxDecimals = 19
const maxUnitCharacters = 8
/** Units of value on public networks, which others like to be taken for. */
const famousUnits: ReadonlySet<string> = new Set(['ALGO', 'USDC'])

/** What is told of one transaction, as it is being told. */
export class DescriptionBuilder {
  readonly transaction: Transaction
  /** The public network that it is for; undefined for a local one. */
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

  /** Of what nobody can take back. */
  warnFinal(text: string): void {
    this.#warn(text, true)
  }

  #warn(text: string, isFinal: boolean): void {
    if (!this.#warnings.some((known) => known.text === text)) this.#warnings.push({ text, isFinal })
  }

  /** The gravest first. */
  get warnings(): string[] {
    return [...this.finalWarnings, ...this.#warnings.filter(({ isFinal }) => !isFinal).map(({ text }) => text)]
  }

  get finalWarnings(): string[] {
    return this.#warnings.filter(({ isFinal }) => isFinal).map(({ text }) => text)
  }

  assetAmount(units: bigint, id: bigint): string {
    const asset = this.#asset(id)
    if (asset === undefined) return `${units} base unit${units === 1n ? '' : 's'} of asset ${id}`
    return `${decimal(units, asset.decimals)} ${unit(asset.unitName)} (asset ${id})`
  }

  assetName(id: bigint): string {
    const asset = this.#asset(id)
    return asset === undefined ? `asset ${id}` : `${unit(asset.unitName)} (asset ${id})`
  }

  #asset(id: bigint): Asset | undefined {
    if (id !== 0n && this.network?.usdcAssetId === id) return { decimals: 6, unitName: 'USDC' }
    const asset = this.#assets.get(id)
    if (asset === undefined || asset.unitName === '') return undefined
    if (!Number.isInteger(asset.decimals) || asset.decimals < 0 || asset.decimals > maxDecimals) return undefined
    // Anybody may call an asset anything.
    if (this.network !== undefined && famousUnits.has(asset.unitName.trim().toUpperCase())) {
      this.warn(
        `Asset ${id} calls itself ${quoted(asset.unitName)}, but it is not the real one: only its number counts.`,
      )
    }
    return asset
  }
}

/** A unit's name as it is, if nobody could take it for anything else. */
function unit(name: string): string {
  return /^[A-Za-z0-9]{1,8}$/.test(name) ? name : quoted([...name].slice(0, maxUnitCharacters).join(''))
}
