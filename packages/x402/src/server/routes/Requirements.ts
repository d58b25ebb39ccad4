/** The payment requirements of a route. Resolves prices to base units, and matches payments to requirements. */
import { BoundedMap, Bytes, Hash, Json, Network } from '@latchkey/algorand'
import {
  type AssetAmount,
  type Money,
  type PaymentPayload,
  type PaymentRequirements,
  type Price,
  PriceError,
} from '@latchkey/x402-wire'
import {
  type Chain,
  ChainError,
  checkAddress,
  checkedNetworkIds,
  isLocalName,
  isUnset,
  type NetworkIds,
  parseAssetId,
} from '../../chain/Chain.js'
import { OptionsError } from '../../errors.js'
import type { Facilitators } from '../exchange/Facilitators.js'
import type { GateRequest } from './GateRequest.js'

/** A value, or a function that chooses it for each request. */
export type Dynamic<T> = T | ((request: Request) => T | Promise<T>)

/**
 * A price by usage: the buyer authorizes a maximum, and the handler charges what was used, with `payment.charge` or the
 * header `Settlement-Overrides`.
 */
export type UpToPrice = {
  /** The maximum, in dollars or in base units of an asset. */
  readonly upTo: Dynamic<Price>
  /**
   * The charge if the handler succeeds and sets none.
   *
   * @default 'nothing'
   */
  readonly whenUnset?: 'nothing' | 'maximum' | undefined
  /**
   * Whether the response is sent while the handler produces it. The charge is then settled at its end, or when the
   * client leaves, and the receipt does not reach the client. Otherwise the response is sent after the settlement.
   *
   * @default false
   */
  readonly stream?: boolean | undefined
}

/** One way to pay for a route. */
export type Accept = {
  /** @default 'upto' for a price with `upTo`, otherwise 'exact' */
  readonly scheme?: 'exact' | 'upto' | undefined
  /**
   * The network of one of the gate's chains: `mainnet`, `testnet`, `betanet`, `local` or a CAIP-2 id.
   *
   * @default the network of the only chain
   */
  readonly network?: string | undefined
  /** The price in dollars (`"$0.01"`) or in base units of an asset; with `upTo`, the maximum of a price by usage. */
  readonly price: Dynamic<Price> | UpToPrice
  /** The address that is paid. */
  readonly payTo: Dynamic<string>
  /**
   * How long the handler may take. The payment is valid for about as long.
   *
   * @default 300
   */
  readonly maxTimeoutSeconds?: number | undefined
  /**
   * `asset` is the id of the asset used to pay a price in dollars. Other members are sent to the buyer.
   *
   * @default {}
   */
  readonly extra?: { readonly asset?: string | number | bigint; readonly [name: string]: unknown } | undefined
  /**
   * `authorization` settles after the handler has succeeded. `upfront` settles before the handler runs and streams its
   * response. The buyer is then charged even if the handler fails, and may send the payment again.
   *
   * @default 'authorization' for GET and HEAD; other methods settle before the handler runs, and hold its response
   */
  readonly paymentFlow?: 'authorization' | 'upfront' | undefined
}

const defaultTimeoutSeconds = 300
/** A payment is valid for at most 1,000 rounds. This is how long they take at their fastest. */
const maxTimeoutSecondsAllowed = 2_400
const minSecretLength = 16
/** Members of `extra` that only the gate sets. */
const reservedExtra = ['feePayer', 'paymentFlow', 'quote']
const reservedHint = 'Remove it from `extra`.'
const chainIdHint = 'Write `network: chain.caip2`, with one of the chains in `chains`.'
const localHint = 'Open it with `Chain.open({ network: "local" })`, and pass it in `chains`.'

/** The options of a route that a requirement depends on. */
export type SettleFirstOptions = { readonly settleFirstAbove?: Price | undefined }

/** The parts of a request that its price depends on. */
export type PricedRequest = Pick<GateRequest, 'request' | 'isSafe' | 'quoteBinding'>

/** The part of a requirement that does not depend on the facilitator. */
export type Terms = { readonly payTo: string } & AssetAmount

/** Functions of the seller may return any number of prices. */
const maxAmounts = 1_000

export type RequirementsParts = {
  readonly chains: readonly Chain[]
  readonly facilitators: Facilitators
  /** Replicas share the secret, so that each accepts the quotes of the others. */
  readonly quoteSecret?: string | undefined
  /** @default 'both' */
  readonly networkIds?: NetworkIds | undefined
}

export class Requirements {
  readonly #chains: readonly Chain[]
  readonly #facilitators: Facilitators
  readonly #secret: Uint8Array
  readonly #networkIds: NetworkIds
  /** Prices in base units, because most routes have the same price for every request. */
  readonly #amounts = new BoundedMap<string, AssetAmount>(maxAmounts)

  constructor({ chains, facilitators, quoteSecret: secret, networkIds }: RequirementsParts) {
    if (secret !== undefined && secret.length < minSecretLength) {
      throw new OptionsError(`quoteSecret has fewer than ${minSecretLength} characters`, 'Generate a random one.')
    }
    this.#chains = chains
    this.#facilitators = facilitators
    this.#networkIds = checkedNetworkIds(networkIds)
    this.#secret = secret === undefined ? Bytes.random(32) : new Uint8Array(Bytes.fromUtf8(secret))
  }

  chainOf({ network }: Pick<Accept, 'network'>): Chain {
    const candidates = this.#candidates(network)
    const [chain] = candidates
    if (chain === undefined) {
      const message = `no chain was passed for ${Network.describe(String(network))}`
      throw new ChainError('unsupported_network', message, { hint: networkHint(String(network)) })
    }
    if (candidates.length === 1) return chain
    const message = isUnset(network)
      ? `network is not set, and there are ${candidates.length} chains`
      : `there are ${candidates.length} local chains`
    throw new ChainError('unsupported_network', message, { hint: chainIdHint })
  }

  /** The chains that a network may refer to. A CAIP-2 id, which is all that buyers send, refers to at most one. */
  #candidates(network: string | undefined): readonly Chain[] {
    if (network === undefined) return this.#chains
    // An empty environment variable is not the same as an omitted option.
    if (isUnset(network)) throw new ChainError('unsupported_network', 'network is empty', { hint: chainIdHint })
    if (network === 'local') return this.#chains.filter(({ isLocal }) => isLocal)
    const id = networkId(String(network))
    return this.#chains.filter((one) => one.matches(id)).slice(0, 1)
  }

  /** Throws for options that are wrong for every request. */
  check(accept: Accept): void {
    const usage = usagePrice(accept)
    const { scheme = schemeOf(accept), paymentFlow = 'authorization', extra = {} } = accept
    if (scheme !== 'exact' && scheme !== 'upto') {
      throw new OptionsError(`scheme cannot be ${JSON.stringify(scheme)}`, 'Use "exact" or "upto".')
    }
    if (scheme !== schemeOf(accept)) {
      throw new OptionsError(
        `scheme cannot be ${JSON.stringify(scheme)} with this price`,
        'Write `price: { upTo: "$0.50" }` for upto.',
      )
    }
    if (usage !== undefined) checkUsage(usage, accept)
    if (paymentFlow !== 'authorization' && paymentFlow !== 'upfront') {
      const message = `paymentFlow cannot be ${JSON.stringify(paymentFlow)}`
      throw new OptionsError(message, 'Use "authorization" or "upfront".')
    }
    const reserved = reservedExtra.find((name) => name in extra)
    if (reserved !== undefined) throw new OptionsError(`extra.${reserved} is reserved: the gate sets it`, reservedHint)
    timeoutOf(accept)
    this.chainOf(accept)
    if (typeof accept.payTo !== 'function') checkAddress(accept.payTo, 'payTo')
  }

  async terms(accept: Accept, request: Request): Promise<Terms> {
    const [price, payTo] = await Promise.all([resolve(priceOf(accept), request), resolve(accept.payTo, request)])
    checkAddress(payTo, 'payTo')
    const amount = await this.amount(price, accept)
    if (amount.asset === '0' && schemeOf(accept) === 'upto') {
      throw new PriceError('invalid_price', 'ALGO cannot be charged by usage', { hint: 'Price the route in an asset.' })
    }
    return { payTo, ...amount }
  }

  async amount(price: Price, accept: Accept): Promise<AssetAmount> {
    if (typeof price === 'object' && price !== null) return checkAmount(price)
    if (typeof price !== 'string' && typeof price !== 'number') {
      throw new PriceError('invalid_price', `${price} is not a price`)
    }
    const named = accept.extra?.asset === undefined ? undefined : parseAssetId(String(accept.extra.asset))
    if (accept.extra?.asset !== undefined && named === undefined) {
      throw new PriceError('invalid_price', 'extra.asset is not an asset id', {
        hint: 'Pass the id of the asset, such as 31566704.',
      })
    }
    const chain = this.chainOf(accept)
    const key = `${chain.caip2} ${named ?? ''} ${price}`
    const known = this.#amounts.get(key)
    if (known !== undefined) return known
    const { assetId, amount } = await chain.resolvePrice(price as Money, named)
    const resolved = { asset: assetId.toString(), amount: amount.toString() }
    this.#amounts.set(key, resolved)
    return resolved
  }

  /**
   * Builds the requirement for one request; undefined if no facilitator serves its network now.
   */
  async build(
    accept: Accept,
    priced: PricedRequest,
    route: SettleFirstOptions = {},
  ): Promise<PaymentRequirements | undefined> {
    const chain = this.chainOf(accept)
    const scheme = schemeOf(accept)
    const kind = this.#facilitators.kindFor(chain, scheme)
    if (kind === undefined) return undefined
    const terms = await this.terms(accept, priced.request)
    const { payTo, asset, amount, extra: ownExtra } = terms
    // The usage is known only after the work.
    const isSettledFirst = scheme === 'exact' && (await this.#isSettledFirst(accept, route, priced, terms))
    const { asset: _, ...extra } = accept.extra ?? {}
    const requirement: PaymentRequirements = {
      scheme,
      network: chain.caip2 as PaymentRequirements['network'],
      amount,
      asset,
      payTo,
      maxTimeoutSeconds: timeoutOf(accept),
      extra: {
        ...extra,
        ...ownExtra,
        ...(kind.feePayer === undefined ? {} : { feePayer: kind.feePayer }),
        ...(isSettledFirst ? { paymentFlow: 'upfront' } : {}),
      },
    }
    const isDynamic = typeof priceOf(accept) === 'function' || typeof accept.payTo === 'function'
    return isDynamic ? this.#quoted(requirement, priced.quoteBinding) : requirement
  }

  /** The work of a handler for an unsafe method cannot be undone, so it is paid for first. */
  async #isSettledFirst(
    accept: Accept,
    { settleFirstAbove }: SettleFirstOptions,
    { isSafe }: PricedRequest,
    { asset, amount }: Terms,
  ): Promise<boolean> {
    if (accept.paymentFlow === 'upfront') return true
    if (settleFirstAbove !== undefined) {
      const limit = await this.amount(settleFirstAbove, accept)
      if (limit.asset !== asset || BigInt(amount) > BigInt(limit.amount)) return true
    }
    return accept.paymentFlow === undefined && !isSafe
  }

  /** The requirements for buyers, each under the offered ids of its network. Published buyers compare the strings. */
  offered(requirements: readonly PaymentRequirements[]): PaymentRequirements[] {
    if (this.#networkIds === 'canonical') return [...requirements]
    return requirements.flatMap((requirement) =>
      this.chainOf(requirement).ids.map((id) => ({ ...requirement, network: id as PaymentRequirements['network'] })),
    )
  }

  /**
   * Finds the requirement that a payment was made for, with the buyer's network id: a current one, or one that was
   * quoted for the same request.
   */
  find(
    { accepted }: PaymentPayload,
    current: readonly PaymentRequirements[],
    binding: string,
  ): PaymentRequirements | undefined {
    const same = current.find((requirement) => this.#matches(accepted, requirement))
    if (same === undefined) return this.#isQuoted(accepted, binding) ? accepted : undefined
    const { network } = accepted
    // Only the fee payer that the payment names can settle it.
    const feePayer = accepted.extra?.['feePayer']
    return { ...same, network, extra: feePayer === undefined ? same.extra : { ...same.extra, feePayer } }
  }

  /**
   * The requirement that a payment claims, with a limited timeout; undefined if no chain was passed for its network.
   */
  claimed({ accepted }: PaymentPayload): PaymentRequirements | undefined {
    if (!this.#chains.some((chain) => chain.matches(accepted.network))) return undefined
    const maxTimeoutSeconds = Math.max(1, Math.min(accepted.maxTimeoutSeconds, maxTimeoutSecondsAllowed))
    return { ...accepted, maxTimeoutSeconds }
  }

  /** Whether all terms are the same. The fee payer may be any that was ever named. */
  #matches(accepted: PaymentRequirements, current: PaymentRequirements): boolean {
    const isSame =
      accepted.scheme === current.scheme &&
      this.#chains.some((chain) => chain.matches(accepted.network) && chain.matches(current.network)) &&
      accepted.amount === current.amount &&
      accepted.asset === current.asset &&
      accepted.payTo === current.payTo &&
      accepted.maxTimeoutSeconds === current.maxTimeoutSeconds
    const feePayer = accepted.extra?.['feePayer']
    return (
      isSame &&
      (feePayer === undefined || this.#facilitators.isFeePayer(feePayer)) &&
      accepted.extra?.['paymentFlow'] === current.extra['paymentFlow'] &&
      Object.entries(current.extra).every(([name, value]) => isSameExtra(name, value, accepted.extra?.[name]))
    )
  }

  /** Adds a MAC to a price that may change before it is paid, so that the price is accepted until it expires. */
  #quoted(requirement: PaymentRequirements, binding: string): PaymentRequirements {
    const until = Math.floor(Date.now() / 1000) + requirement.maxTimeoutSeconds
    const quote = `${until}.${this.#mac(requirement, until, binding)}`
    return { ...requirement, extra: { ...requirement.extra, quote } }
  }

  #isQuoted(accepted: PaymentRequirements, binding: string): boolean {
    const [, until, mac] = /^([0-9]{1,12})\.([A-Za-z0-9_-]{43})$/.exec(String(accepted.extra?.['quote'] ?? '')) ?? []
    if (until === undefined || mac === undefined || Number(until) < Date.now() / 1000) return false
    if (!this.#chains.some((chain) => chain.matches(accepted.network))) return false
    const { quote: _, ...extra } = accepted.extra
    const expected = this.#mac({ ...accepted, extra }, Number(until), binding)
    return Bytes.equalConstantTime(Bytes.fromUtf8(expected), Bytes.fromUtf8(mac))
  }

  #mac(requirement: PaymentRequirements, until: number, binding: string): string {
    const { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra } = requirement
    const chain = this.chainOf({ network }).caip2
    const text = canonical([binding, until, scheme, chain, amount, asset, payTo, maxTimeoutSeconds, extra])
    return Bytes.toBase64Url(Hash.hmacSha256(this.#secret, Bytes.fromUtf8(text)))
  }
}

function isSameExtra(name: string, current: unknown, accepted: unknown): boolean {
  // The fee payer is checked above, and a buyer may pay its own fees. A quote belongs to an earlier price.
  return name === 'quote' || name === 'feePayer' || canonical(current) === canonical(accepted)
}

/** Equal values produce equal texts, in any order of members. */
function canonical(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (!Json.isObject(inner)) return inner
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
  return text ?? 'undefined'
}

/** The CAIP-2 id of a network given by name. */
function networkId(network: string): string {
  return Network.known.find(({ name }) => name === network)?.caip2 ?? network
}

/** The suggestion for a misspelled network, if there is one. */
function networkHint(network: string): string | undefined {
  if (network === 'local') return localHint
  if (isLocalName(network)) return 'Write `network: "local"`, or leave it out if there is one chain.'
  try {
    Network.resolve(network)
    return undefined
  } catch (error) {
    if (error instanceof Network.NetworkError) return error.hint
    throw error
  }
}

/** The price by usage of a way to pay; undefined if the price is fixed. */
export function usagePrice({ price }: Pick<Accept, 'price'>): UpToPrice | undefined {
  return typeof price === 'object' && price !== null && 'upTo' in price ? price : undefined
}

/** The price of a way to pay, or its maximum. */
export function priceOf(accept: Pick<Accept, 'price'>): Dynamic<Price> {
  return usagePrice(accept)?.upTo ?? (accept.price as Dynamic<Price>)
}

export function schemeOf(accept: Pick<Accept, 'price'>): 'exact' | 'upto' {
  return usagePrice(accept) === undefined ? 'exact' : 'upto'
}

function checkUsage(usage: UpToPrice, { paymentFlow }: Accept): void {
  const { upTo: _, whenUnset = 'nothing', stream = false, ...unknown } = usage
  const [name] = Object.keys(unknown)
  if (name !== undefined) throw new OptionsError(`the price by usage has the unknown member ${JSON.stringify(name)}`)
  if (whenUnset !== 'nothing' && whenUnset !== 'maximum') {
    throw new OptionsError(`whenUnset cannot be ${JSON.stringify(whenUnset)}`, 'Use "nothing" or "maximum".')
  }
  if (typeof stream !== 'boolean') throw new OptionsError('stream must be true or false')
  if (paymentFlow === 'upfront') {
    throw new OptionsError('a price by usage cannot be settled first', 'Remove `paymentFlow`.')
  }
}

function timeoutOf({ maxTimeoutSeconds = defaultTimeoutSeconds }: Accept): number {
  if (!Number.isInteger(maxTimeoutSeconds) || maxTimeoutSeconds < 1 || maxTimeoutSeconds > maxTimeoutSecondsAllowed) {
    const hint = `Pass an integer from 1 to ${maxTimeoutSecondsAllowed}.`
    throw new OptionsError(`maxTimeoutSeconds cannot be ${maxTimeoutSeconds}`, hint)
  }
  return maxTimeoutSeconds
}

function checkAmount({ asset, amount, extra }: AssetAmount): AssetAmount {
  if (parseAssetId(String(asset)) === undefined) {
    throw new PriceError('invalid_price', `${asset} is not an asset id`)
  }
  // Amounts have 64 bits, as asset ids do.
  if (!/^[1-9][0-9]{0,19}$/.test(String(amount)) || parseAssetId(String(amount)) === undefined)
    throw new PriceError('invalid_price', `${amount} is not a positive number of base units`)
  const reserved = reservedExtra.find((name) => name in (extra ?? {}))
  if (reserved !== undefined) {
    throw new PriceError('invalid_price', `extra.${reserved} is reserved: the gate sets it`, { hint: reservedHint })
  }
  return { asset: String(asset), amount: String(amount), extra }
}

function resolve<T>(value: Dynamic<T>, request: Request): T | Promise<T> {
  return typeof value === 'function' ? (value as (request: Request) => T | Promise<T>)(request) : value
}
