/**
 * Reads payment requirements as offers, compares and sorts offers, and checks them against the limits and the funds of
 * a buyer.
 */
import { AlgodError } from '@latchkey/algod'
import { Address, Amount, BoundedMap, VisibleText } from '@latchkey/algorand'
import { FeeError, feePayerOf, type PaymentRequirements, Prices } from '@latchkey/x402-wire'
import { type AssetInfo, algoAssetId, type Chain, ChainError, parseAssetId } from '../../chain/Chain.js'
import * as Funds from '../../chain/Funds.js'
import { assetKey, type Spent } from '../store/Payments.js'
import type { RefusalCode, RefusalReason } from './PaymentRefusedError.js'

/** A payment requirement that the buyer understands, with the asset details looked up for it. */
export type Offer = {
  readonly requirement: PaymentRequirements
  readonly chain: Chain
  readonly asset: AssetInfo
  /** The price in base units; for a price by usage (`requirement.scheme` is `upto`), the maximum. */
  readonly amount: bigint
  /** The account that pays the fees; undefined if the buyer does. */
  readonly feePayer: string | undefined
  /** The price in millionths of a dollar, if the asset is the dollar of its network. */
  readonly microDollars: bigint | undefined
}

/** The paying account, its networks and its limits. */
export type OfferReader = {
  readonly address: string
  readonly chains: readonly Chain[]
  readonly limits: Limits
}

const zeroAddress = Address.encode(new Uint8Array(32))
const maxTimeoutSecondsAccepted = 24 * 60 * 60

/** Reads a requirement and looks up its asset. Returns a reason if the buyer cannot pay the requirement. */
export async function read(
  requirement: PaymentRequirements,
  { address, chains, limits }: OfferReader,
): Promise<Offer | RefusalReason> {
  const { scheme, network, asset, amount, payTo, maxTimeoutSeconds, extra } = requirement
  const refuse = (code: RefusalCode, message: string): RefusalReason => ({ code, message, network, asset })
  if (![scheme, network, asset, amount, payTo].every((one) => typeof one === 'string')) {
    return { code: 'invalid_offer', message: 'a field of the offer is not a string' }
  }
  const isByUsage = scheme === 'upto'
  if (scheme !== 'exact' && !isByUsage) {
    return refuse('unsupported_scheme', `the scheme ${quote(scheme)} is not supported`)
  }
  const chain = chains.find((one) => one.matches(network))
  if (chain === undefined)
    return refuse('unsupported_network', `the buyer does not pay on the network ${quote(network)}`)
  const assetId = parseAssetId(asset)
  if (assetId === undefined) return refuse('invalid_offer', `${quote(asset)} is not an asset id`)
  // Checked before a node is queried about the asset, so that a seller cannot choose what the buyer requests from its
  // node.
  if (limits.rank(assetId, chain) === undefined) {
    const message = `payments in asset ${assetId} are not allowed; add it to \`assets\` with a limit`
    return refuse('asset_not_allowed', message)
  }
  const units = /^[1-9][0-9]{0,19}$/.test(amount) ? BigInt(amount) : 0n
  if (units === 0n || units >= 2n ** 64n) return refuse('invalid_offer', `${quote(amount)} is not an amount`)
  if (!Address.isValid(payTo)) return refuse('invalid_offer', `payTo is not an address: ${quote(payTo)}`)
  // Funds sent to the zero address are lost, and its key does not exist.
  if (payTo === zeroAddress) return refuse('invalid_offer', 'payTo is the zero address')
  if (extra?.['feePayer'] === zeroAddress) return refuse('invalid_offer', 'feePayer is the zero address')
  if (
    typeof maxTimeoutSeconds !== 'number' ||
    !(maxTimeoutSeconds > 0 && maxTimeoutSeconds <= maxTimeoutSecondsAccepted)
  ) {
    return refuse('invalid_offer', 'maxTimeoutSeconds is out of range')
  }
  const flow = extra?.['paymentFlow'] ?? 'authorization'
  if (flow !== 'authorization' && (flow !== 'upfront' || isByUsage)) {
    return refuse('unsupported_payment_flow', 'the payment flow is not supported')
  }
  if (isByUsage && (assetId === algoAssetId || payTo === address || feePayerOf(requirement, address) === undefined)) {
    const message = 'a price by usage needs an asset, another account that is paid, and a facilitator in feePayer'
    return refuse('invalid_offer', message)
  }
  const offer = await orReason(async () => {
    const info = await chain.asset(assetId)
    const microDollars = limits.microDollars(units, info, chain)
    return {
      requirement,
      chain,
      asset: info,
      amount: units,
      feePayer: feePayerOf(requirement, address),
      microDollars,
    }
  })
  return 'code' in offer ? { ...offer, network, asset } : offer
}

/** Whether consent to one offer is consent to the other: nothing that a person sees, or that is sent, differs. */
export function isSame(a: Offer, b: Offer): boolean {
  return (
    a.amount === b.amount &&
    a.chain === b.chain &&
    a.asset.assetId === b.asset.assetId &&
    a.asset.decimals === b.asset.decimals &&
    a.feePayer === b.feePayer &&
    JSON.stringify(a.requirement) === JSON.stringify(b.requirement)
  )
}

/** Sorts the offers by preference. */
export function sort(offers: readonly Offer[], { chains, limits }: OfferReader): Offer[] {
  const preference = ({ requirement, chain, asset, amount }: Offer): bigint[] => {
    const isUpfront = requirement.extra?.['paymentFlow'] === 'upfront'
    const rank = limits.rank(asset.assetId, chain)!
    return [BigInt(chains.indexOf(chain)), BigInt(rank), amount, isUpfront ? 1n : 0n]
  }
  return [...offers].sort((a, b) => compare(preference(a), preference(b)))
}

function compare(a: readonly bigint[], b: readonly bigint[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value < b[index]! ? -1 : 1
  return 0
}

/** Quotes text from outside: shortened, and without control characters and invisible characters. */
function quote(text: string): string {
  return VisibleText.replaceHidden(JSON.stringify(text.slice(0, 60)), '?')
}

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

/** The limits of a buyer: allowed assets, per payment, and in total. */
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
        format: Amount.formatDollars,
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
      format: (units) => `${Amount.formatGrouped(units, asset.decimals)} ${nameOf(asset)}`,
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

/** `isFresh` skips the cache, for offers that are shown to a person. */
type FundsOptions = { readonly isFresh?: boolean | undefined }

type Balance = { left: bigint; readonly untilMs: number }

/** Short, because others may spend from the account too. */
const balanceMs = 3_000
/** Sellers opt out of the asset they are paid in when they close their business. */
const receiverMs = 10 * 60_000
/** Bounded, because sellers choose which accounts are looked up. */
const maxEntries = 1_000

/**
 * Caches account balances for a short time, so that not every payment sends requests to a node. A stale entry costs no
 * money: the payment is refused, as it would be if the account changed after the lookup.
 */
export class FundsCache {
  readonly #balances = new BoundedMap<string, Balance>(maxEntries)
  /** The time until which an account counts as opted in. */
  readonly #receivers = new BoundedMap<string, number>(maxEntries)
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Returns the reason why an account cannot pay; undefined if it can. */
  async payerProblem(
    chain: Chain,
    cost: Funds.PaymentCost,
    { isFresh = false }: FundsOptions = {},
  ): Promise<Funds.FundsProblem | undefined> {
    const { payer, assetId, amount, feeMicroAlgos } = cost
    // Payments in ALGO, and payers that pay their own fees, need the state of the whole account.
    if (isFresh || assetId === algoAssetId || feeMicroAlgos > 0n) return Funds.payerProblem(chain, cost)
    const key = keyOf(chain, payer, assetId)
    const known = this.#balances.get(key)
    if (known !== undefined && this.#nowMs() < known.untilMs && amount <= known.left) return undefined
    const untilMs = this.#nowMs() + balanceMs
    const holding = await chain.algod.holding(payer, assetId)
    const problem = await Funds.holdingProblem(chain, cost, holding)
    if (problem === undefined) this.#balances.set(key, { left: holding!.amount, untilMs })
    else this.#balances.delete(key)
    return problem
  }

  /** Returns the reason why an account cannot be paid; undefined if it can. */
  async receiverProblem(
    chain: Chain,
    address: string,
    assetId: bigint,
    { isFresh = false }: FundsOptions = {},
  ): Promise<Funds.FundsProblem | undefined> {
    if (isFresh) return Funds.receiverProblem(chain, address, assetId)
    const key = keyOf(chain, address, assetId)
    if (this.#nowMs() < (this.#receivers.get(key) ?? Number.NEGATIVE_INFINITY)) return undefined
    const untilMs = this.#nowMs() + receiverMs
    const problem = await Funds.receiverProblem(chain, address, assetId)
    if (problem === undefined) this.#receivers.set(key, untilMs)
    else this.#receivers.delete(key)
    return problem
  }

  /** Deducts a payment from the cached balance. */
  spend(chain: Chain, payer: string, assetId: bigint, amount: bigint): void {
    const known = this.#balances.get(keyOf(chain, payer, assetId))
    if (known !== undefined) known.left -= amount
  }
}

function keyOf({ caip2 }: Chain, address: string, assetId: bigint): string {
  return `${caip2} ${address} ${assetId}`
}

export function isReason<T extends object>(result: T | RefusalReason): result is RefusalReason {
  return 'code' in result
}

export function reasonOfFunds(problem: Funds.FundsProblem): RefusalReason {
  const { code, asked, left } = problem
  const message = Funds.describe(problem)
  if (asked === undefined || left === undefined) return { code, message }
  const unit = code === 'insufficient_algos' ? 'micro_algos' : 'base_units'
  return { code, message, asked: `${asked}`, left: `${left}`, unit }
}

/** Converts errors of a node, an asset or a fee to a reason not to pay an offer. */
export async function orReason<T>(work: () => Promise<T>): Promise<T | RefusalReason> {
  try {
    return await work()
  } catch (error) {
    const reason = reasonOfError(error)
    if (reason === undefined) throw error
    return reason
  }
}

function reasonOfError(error: unknown): RefusalReason | undefined {
  if (error instanceof AlgodError) return { code: 'node_unavailable', message: error.message }
  if (error instanceof FeeError) {
    const { code, message, feeMicroAlgos, maxFeeMicroAlgos } = error
    return { code, message, asked: `${feeMicroAlgos}`, limit: `${maxFeeMicroAlgos}`, unit: 'micro_algos' }
  }
  if (!(error instanceof ChainError)) return undefined
  return { code: error.code === 'wrong_network' ? 'wrong_network' : 'unknown_asset', message: error.message }
}
