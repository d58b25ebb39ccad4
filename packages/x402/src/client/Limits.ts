/** What may be paid: in which assets, in one payment, and in total. */
import { Amount } from '@latchkey/algorand'
import { type AssetInfo, algoAssetId, type Chain } from '../chain/Chain.js'
import * as Price from '../Price.js'
import type { RefusalReason } from './PaymentRefusedError.js'
import { assetKey, type Spent } from './Payments.js'

/** What a buyer may pay. */
export type LimitOptions = {
  /**
   * The most that one payment may be, in dollars; `false` for no limit.
   *
   * @default '$1'
   */
  maxPerPayment?: Price.Money | false | undefined
  /**
   * The most that all payments of the payment log may be together, in dollars. Payments that may still be settled count.
   *
   * @default no limit
   */
  maxTotal?: Price.Money | undefined
  /**
   * Assets other than the dollar to pay in, the preferred one first, each with limits in base units.
   *
   * @default none
   */
  assets?: readonly AssetLimit[] | undefined
}

/** An asset other than the dollar that may be paid in, and how much of it. */
export type AssetLimit = {
  /** The id of the asset; `0n` is the ALGO. */
  readonly asset: bigint
  /**
   * The network of the asset, by its CAIP-2 id.
   *
   * @default every network that is paid on
   */
  readonly network?: string | undefined
  /** The most that one payment may be, in base units. */
  readonly maxPerPayment: bigint
  /**
   * The most that all payments may be together, in base units.
   *
   * @default no limit
   */
  readonly maxTotal?: bigint | undefined
}

const defaultMaxPerPayment = '$1'
const dollarDecimals = 6

export class Limits {
  readonly #maxPerPayment: bigint | undefined
  readonly #maxTotal: bigint | undefined
  readonly #assets: readonly AssetLimit[]

  constructor({ maxPerPayment = defaultMaxPerPayment, maxTotal, assets = [] }: LimitOptions = {}) {
    this.#maxPerPayment = maxPerPayment === false ? undefined : readMicroDollars(maxPerPayment)
    this.#maxTotal = maxTotal === undefined ? undefined : readMicroDollars(maxTotal)
    this.#assets = assets
  }

  /** The place of an asset in the order of preference: 0 is the dollar; undefined is an asset that is not paid in. */
  rank(assetId: bigint, chain: Chain): number | undefined {
    if (assetId === chain.dollarAssetId) return 0
    const index = this.#assets.findIndex((limit) => isFor(limit, assetId, chain))
    return index < 0 ? undefined : index + 1
  }

  /** Why an amount may not be paid in one payment, or undefined. */
  paymentProblem(amount: bigint, asset: AssetInfo, chain: Chain): RefusalReason | undefined {
    const { value, maxPerPayment, unit, format } = this.#measure(amount, asset, chain)
    if (maxPerPayment === undefined || value <= maxPerPayment) return undefined
    const message = `${format(value)} is above the limit of ${format(maxPerPayment)} for one payment`
    return { code: 'above_payment_limit', message, asked: `${value}`, limit: `${maxPerPayment}`, unit }
  }

  /** Why an amount may not be paid in addition to what was paid, or undefined. */
  totalProblem(amount: bigint, asset: AssetInfo, chain: Chain, spent: Spent): RefusalReason | undefined {
    const { value, maxTotal, spentOf, unit, format } = this.#measure(amount, asset, chain)
    const before = spentOf(spent)
    if (maxTotal === undefined || before + value <= maxTotal) return undefined
    const left = maxTotal > before ? maxTotal - before : 0n
    const message = `${format(value)} would make the total ${format(before + value)}, above the limit of ${format(maxTotal)}`
    return {
      code: 'above_total_limit',
      message,
      asked: `${value}`,
      limit: `${maxTotal}`,
      left: `${left}`,
      unit,
    }
  }

  /** What an amount is worth, if the asset is the dollar of its network. */
  microDollars(amount: bigint, { assetId, decimals }: AssetInfo, { dollarAssetId }: Chain): bigint | undefined {
    if (assetId !== dollarAssetId) return undefined
    const scale = 10n ** BigInt(Math.abs(decimals - dollarDecimals))
    // Rounded up: many small payments must not add up to more than a limit.
    return decimals >= dollarDecimals ? (amount + scale - 1n) / scale : amount * scale
  }

  #measure(amount: bigint, asset: AssetInfo, chain: Chain): Measure {
    const value = this.microDollars(amount, asset, chain)
    if (value !== undefined) {
      return {
        value,
        maxPerPayment: this.#maxPerPayment,
        maxTotal: this.#maxTotal,
        spentOf: ({ microDollars }) => microDollars,
        unit: 'micro_dollars',
        format: (units) => `$${Amount.format(units, dollarDecimals)}`,
      }
    }
    const limit = this.#assets.find((one) => isFor(one, asset.assetId, chain))
    const key = assetKey(chain.caip2, asset.assetId.toString())
    return {
      value: amount,
      // An asset without a limit of its own is not paid in.
      maxPerPayment: limit?.maxPerPayment ?? 0n,
      maxTotal: limit?.maxTotal,
      spentOf: ({ assets }) => assets.get(key) ?? 0n,
      unit: asset.assetId === algoAssetId ? 'micro_algos' : 'base_units',
      format: (units) => `${Amount.format(units, asset.decimals)} ${nameOf(asset)}`,
    }
  }
}

type Measure = {
  value: bigint
  maxPerPayment: bigint | undefined
  maxTotal: bigint | undefined
  spentOf: (spent: Spent) => bigint
  unit: NonNullable<RefusalReason['unit']>
  format: (units: bigint) => string
}

function readMicroDollars(limit: Price.Money): bigint {
  const { ticker = 'USDC' } = Price.parse(limit)
  if (ticker !== 'USDC') {
    const message = `${JSON.stringify(limit)} is not in dollars; limits of other assets are in \`assets\``
    throw new Price.PriceError('wrong_currency', message)
  }
  return Price.baseUnits(limit, dollarDecimals)
}

function isFor({ asset, network }: AssetLimit, assetId: bigint, chain: Chain): boolean {
  return asset === assetId && (network === undefined || chain.matches(network))
}

/** With the id: any asset can have any name. */
function nameOf({ assetId, name }: AssetInfo): string {
  return assetId === algoAssetId ? 'ALGO' : `${JSON.stringify(name)} (asset ${assetId})`
}
