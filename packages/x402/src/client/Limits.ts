/** What may be paid: in which assets, for one request, and in all. */
import { type AssetFacts, algoAssetId, type Chain } from '../chain/Chain.js'
import * as Price from '../Price.js'
import { assetKey, type Spent } from './Payments.js'

export type LimitOptions = {
  /** In dollars, for one payment; $1 unless told, `false` for none. */
  maxPerPayment?: Price.Money | false | undefined
  /** In dollars, for all payments that were made or may still be. */
  maxTotal?: Price.Money | undefined
  /** Assets other than the dollar that may be paid in, the preferred first, each with its limits in base units. */
  assets?: readonly AssetLimit[] | undefined
}

export type AssetLimit = {
  /** By its number; `0n` is the Algo. */
  readonly asset: bigint
  /** The network whose asset it is, if there are several to pay on. */
  readonly network?: string | undefined
  readonly maxPerPayment: bigint
  readonly maxTotal?: bigint | undefined
}

const defaultMaxPerPayment = '$1'
const dollarDecimals = 6

export class Limits {
  readonly #maxPerPayment: bigint | undefined
  readonly #maxTotal: bigint | undefined
  readonly #assets: readonly AssetLimit[]

  constructor({ maxPerPayment = defaultMaxPerPayment, maxTotal, assets = [] }: LimitOptions = {}) {
    this.#maxPerPayment = maxPerPayment === false ? undefined : microDollarsOf(maxPerPayment)
    this.#maxTotal = maxTotal === undefined ? undefined : microDollarsOf(maxTotal)
    this.#assets = assets
  }

  /** How readily it is paid in: 0 is the dollar; undefined is not at all. */
  rank(assetId: bigint, chain: Chain): number | undefined {
    if (assetId === chain.dollarAssetId) return 0
    const index = this.#assets.findIndex((limit) => isFor(limit, assetId, chain))
    return index < 0 ? undefined : index + 1
  }

  /** Why so much may not be paid at once, or undefined. */
  fault(amount: bigint, asset: AssetFacts, chain: Chain): string | undefined {
    const { value, maxPerPayment, text } = this.#measure(amount, asset, chain)
    if (maxPerPayment === undefined || value <= maxPerPayment) return undefined
    return `${text(value)} is above the limit of ${text(maxPerPayment)} for one payment`
  }

  /** Why it may not be paid on top of what was, or undefined. */
  sumFault(amount: bigint, asset: AssetFacts, chain: Chain, spent: Spent): string | undefined {
    const { value, maxTotal, before, text } = this.#measure(amount, asset, chain)
    const sum = before(spent) + value
    if (maxTotal === undefined || sum <= maxTotal) return undefined
    return `${text(value)} would make it ${text(sum)}, above the limit of ${text(maxTotal)} in all`
  }

  /** What an amount is worth, if the asset is the dollar of its network. */
  microDollars(amount: bigint, { assetId, decimals }: AssetFacts, { dollarAssetId }: Chain): bigint | undefined {
    if (assetId !== dollarAssetId) return undefined
    const scale = 10n ** BigInt(Math.abs(decimals - dollarDecimals))
    // Up: a limit is never undercut by rounding.
    return decimals >= dollarDecimals ? (amount + scale - 1n) / scale : amount * scale
  }

  #measure(amount: bigint, asset: AssetFacts, chain: Chain): Measure {
    const value = this.microDollars(amount, asset, chain)
    if (value !== undefined) {
      return {
        value,
        maxPerPayment: this.#maxPerPayment,
        maxTotal: this.#maxTotal,
        before: ({ microDollars }) => microDollars,
        text: (units) => `$${Price.text(units, dollarDecimals)}`,
      }
    }
    const limit = this.#assets.find((one) => isFor(one, asset.assetId, chain))
    const key = assetKey(chain.caip2, asset.assetId.toString())
    return {
      value: amount,
      // Not one of those that were named: nothing may be paid in it.
      maxPerPayment: limit?.maxPerPayment ?? 0n,
      maxTotal: limit?.maxTotal,
      before: ({ assets }) => assets.get(key) ?? 0n,
      text: (units) => `${Price.text(units, asset.decimals)} ${nameOf(asset)}`,
    }
  }
}

type Measure = {
  value: bigint
  maxPerPayment: bigint | undefined
  maxTotal: bigint | undefined
  before: (spent: Spent) => bigint
  text: (units: bigint) => string
}

function microDollarsOf(limit: Price.Money): bigint {
  const { ticker = 'USDC' } = Price.parse(limit)
  if (ticker !== 'USDC')
    throw new Price.PriceError(`${JSON.stringify(limit)} is not in dollars; see \`assets\` for others`)
  return Price.baseUnits(limit, dollarDecimals)
}

function isFor({ asset, network }: AssetLimit, assetId: bigint, chain: Chain): boolean {
  return asset === assetId && (network === undefined || chain.matches(network))
}

/** Anybody may call an asset anything; its number says which one it is. */
function nameOf({ assetId, name }: AssetFacts): string {
  return assetId === algoAssetId ? 'ALGO' : `${JSON.stringify(name)} (asset ${assetId})`
}
