/** The limits of a buyer: allowed assets, per payment, and in total. */
import { Amount } from '@latchkey/algorand'
import { Prices } from '@latchkey/x402-wire'
import { type AssetInfo, algoAssetId, type Chain } from '../../chain/Chain.js'
import { assetKey, type Spent } from '../store/Payments.js'
import type { RefusalReason } from './PaymentRefusedError.js'

/** The limits of a buyer. */
export type LimitOptions = {
  /**
   * The highest amount of one payment, in dollars; `false` for no limit.
   *
   * @default '$1'
   */
  maxPerPayment?: Prices.Money | false | undefined
  /**
   * The highest total of all payments in the payment log, in dollars. Payments that may still be settled count.
   *
   * @default no limit
   */
  maxTotal?: Prices.Money | undefined
  /**
   * Assets other than the dollar to pay in, the preferred one first, each with limits in base units.
   *
   * @default none
   */
  assets?: readonly AssetLimit[] | undefined
}

/** An asset other than the dollar that may be used to pay, and its limits. */
export type AssetLimit = {
  /** The id of the asset; `0n` is ALGO. */
  readonly asset: bigint
  /**
   * The CAIP-2 id of the asset's network.
   *
   * @default every network of the buyer
   */
  readonly network?: string | undefined
  /** The highest amount of one payment, in base units. */
  readonly maxPerPayment: bigint
  /**
   * The highest total of all payments, in base units.
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

  /**
   * The position of an asset in the order of preference. The dollar is 0; undefined means that the asset is not
   * allowed.
   */
  rank(assetId: bigint, chain: Chain): number | undefined {
    if (assetId === chain.dollarAssetId) return 0
    const index = this.#assets.findIndex((limit) => isFor(limit, assetId, chain))
    return index < 0 ? undefined : index + 1
  }

  /** Returns the reason why an amount may not be paid in one payment; otherwise undefined. */
  paymentProblem(amount: bigint, asset: AssetInfo, chain: Chain): RefusalReason | undefined {
    const { value, maxPerPayment, unit, format } = this.#measure(amount, asset, chain)
    if (maxPerPayment === undefined || value <= maxPerPayment) return undefined
    const message = `${format(value)} is above the limit of ${format(maxPerPayment)} for one payment`
    return { code: 'above_payment_limit', message, asked: `${value}`, limit: `${maxPerPayment}`, unit }
  }

  /** Returns the reason why an amount may not be paid in addition to earlier payments; otherwise undefined. */
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

  /** The value of an amount, if the asset is the dollar of its network. */
  microDollars(amount: bigint, { assetId, decimals }: AssetInfo, { dollarAssetId }: Chain): bigint | undefined {
    if (assetId !== dollarAssetId) return undefined
    const scale = 10n ** BigInt(Math.abs(decimals - dollarDecimals))
    // Rounded up, so that many small payments cannot add up to more than a limit.
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
      // An asset without a limit may not be used to pay.
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

function readMicroDollars(limit: Prices.Money): bigint {
  const { ticker = 'USDC' } = Prices.parse(limit)
  if (ticker !== 'USDC') {
    const message = `${JSON.stringify(limit)} is not in dollars; limits of other assets are in \`assets\``
    throw new Prices.PriceError('wrong_currency', message)
  }
  return Prices.baseUnits(limit, dollarDecimals)
}

function isFor({ asset, network }: AssetLimit, assetId: bigint, chain: Chain): boolean {
  return asset === assetId && (network === undefined || chain.matches(network))
}

/** Includes the id, because any asset can have any name. */
function nameOf({ assetId, name }: AssetInfo): string {
  return assetId === algoAssetId ? 'ALGO' : `${JSON.stringify(name)} (asset ${assetId})`
}
