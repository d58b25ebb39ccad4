/** What is asked for a route: prices resolved to base units, and payments matched to what was asked. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { Network } from '@latchkey/algorand'
import { type Chain, ChainError, checkAddress, parseAssetId } from '../chain/Chain.js'
import type { AssetAmount, Money, Price } from '../Price.js'
import { PriceError } from '../Price.js'
import type { PaymentPayload, PaymentRequirements } from '../wire/types.js'
import type { Facilitators } from './Facilitators.js'

export type Dynamic<T> = T | ((request: Request) => T | Promise<T>)

export type Accept = {
  readonly scheme?: 'exact' | undefined
  /** `mainnet`, `testnet`, a CAIP-2 id: one of the chains that the gate was given. */
  readonly network: string
  /** Dollars (`"$0.01"`), or so many base units of an asset. */
  readonly price: Dynamic<Price>
  readonly payTo: Dynamic<string>
  readonly maxTimeoutSeconds?: number | undefined
  /** `asset` is the number of the asset in which a dollar price is paid; the rest goes to the buyer as it is. */
  readonly extra?: { readonly asset?: string | number | bigint; readonly [name: string]: unknown } | undefined
  /** `upfront`: settled before the handler runs, so that it may stream; charged even if it fails. */
  readonly paymentFlow?: 'authorization' | 'upfront' | undefined
}

const defaultTimeoutSeconds = 300
/** A payment can be valid for no longer: a thousand rounds, as fast as they may come. */
const longestTimeoutSeconds = 2_400
const shortestSecret = 16
/** Set by the gate, and by nobody else. */
const reservedExtra = ['feePayer', 'paymentFlow', 'quote']

/** What is asked, whoever settles it. */
export type Terms = { readonly payTo: string } & AssetAmount

export class Requirements {
  readonly #chains: readonly Chain[]
  readonly #facilitators: Facilitators
  readonly #secret: Buffer

  /** Replicas that quote prices to the same buyers share the secret. */
  constructor(chains: readonly Chain[], facilitators: Facilitators, secret: string | undefined) {
    if (secret !== undefined && secret.length < shortestSecret) {
      throw new RangeError(`quoteSecret has at least ${shortestSecret} characters, best from a generator of passwords`)
    }
    this.#chains = chains
    this.#facilitators = facilitators
    this.#secret = secret === undefined ? randomBytes(32) : Buffer.from(secret)
  }

  chainOf({ network }: Pick<Accept, 'network'>): Chain {
    const id = networkId(String(network))
    const chain = this.#chains.find((one) => one.matches(id))
    if (chain === undefined) throw new ChainError(`there is no chain for the network ${network}; give the gate one`)
    return chain
  }

  /** What does not depend on a request, and is wrong for all of them if it is wrong. */
  check(accept: Accept): void {
    const { scheme = 'exact', paymentFlow = 'authorization', extra = {} } = accept
    if (scheme !== 'exact') throw new RangeError(`the scheme ${scheme} is not known; there is "exact"`)
    if (paymentFlow !== 'authorization' && paymentFlow !== 'upfront') {
      throw new RangeError(`the payment flow ${paymentFlow} is not known; there are "authorization" and "upfront"`)
    }
    const reserved = reservedExtra.find((name) => name in extra)
    if (reserved !== undefined) throw new RangeError(`extra.${reserved} is set by the gate`)
    timeoutOf(accept)
    this.chainOf(accept)
    if (typeof accept.payTo === 'string') checkAddress(accept.payTo, 'payTo')
  }

  async terms(accept: Accept, request: Request): Promise<Terms> {
    const [price, payTo] = await Promise.all([resolve(accept.price, request), resolve(accept.payTo, request)])
    checkAddress(String(payTo), 'payTo')
    return { payTo, ...(await this.amount(price, accept)) }
  }

  async amount(price: Price, accept: Accept): Promise<AssetAmount> {
    if (typeof price === 'object' && price !== null) return checkAmount(price)
    if (typeof price !== 'string' && typeof price !== 'number') throw new PriceError(`${price} is no price`)
    const named = accept.extra?.asset === undefined ? undefined : parseAssetId(String(accept.extra.asset))
    if (accept.extra?.asset !== undefined && named === undefined) throw new PriceError('extra.asset is not a number')
    const { assetId, amount } = await this.chainOf(accept).resolvePrice(price as Money, named)
    return { asset: assetId.toString(), amount: amount.toString() }
  }

  /** For one request, of which `binding` holds what a price may depend on. Undefined if nobody settles there just now. */
  async build(accept: Accept, request: Request, binding: string): Promise<PaymentRequirements | undefined> {
    const kind = this.#facilitators.kindFor(this.chainOf(accept))
    if (kind === undefined) return undefined
    const { payTo, asset, amount, extra: ownExtra } = await this.terms(accept, request)
    const { asset: _, ...extra } = accept.extra ?? {}
    const requirement: PaymentRequirements = {
      scheme: 'exact',
      // As the facilitator names it: buyers and facilitators of earlier versions compare by letter.
      network: kind.network as PaymentRequirements['network'],
      amount,
      asset,
      payTo,
      maxTimeoutSeconds: timeoutOf(accept),
      extra: {
        ...extra,
        ...ownExtra,
        ...(kind.feePayer === undefined ? {} : { feePayer: kind.feePayer }),
        ...(accept.paymentFlow === 'upfront' ? { paymentFlow: 'upfront' } : {}),
      },
    }
    const isDynamic = typeof accept.price === 'function' || typeof accept.payTo === 'function'
    return isDynamic ? this.#quoted(requirement, binding) : requirement
  }

  /** The requirement that a payment was made for, among those asked now or quoted for the same a while ago. */
  find(
    { accepted }: PaymentPayload,
    asked: readonly PaymentRequirements[],
    binding: string,
  ): PaymentRequirements | undefined {
    const same = asked.find((requirement) => this.#matches(accepted, requirement))
    if (same === undefined) return this.#isQuoted(accepted, binding) ? accepted : undefined
    // The payment was made with the fee payer that it names; only that one can settle it.
    const feePayer = accepted.extra?.['feePayer']
    return feePayer === undefined ? same : { ...same, extra: { ...same.extra, feePayer } }
  }

  /** Everything that matters is the same; who pays the fees may be any of those that were ever named. */
  #matches(accepted: PaymentRequirements, asked: PaymentRequirements): boolean {
    const isSame =
      accepted.scheme === asked.scheme &&
      this.#chains.some((chain) => chain.matches(accepted.network) && chain.matches(asked.network)) &&
      accepted.amount === asked.amount &&
      accepted.asset === asked.asset &&
      accepted.payTo === asked.payTo &&
      accepted.maxTimeoutSeconds === asked.maxTimeoutSeconds
    const feePayer = accepted.extra?.['feePayer']
    return (
      isSame &&
      (feePayer === undefined || this.#facilitators.isFeePayer(feePayer)) &&
      accepted.extra?.['paymentFlow'] === asked.extra['paymentFlow'] &&
      Object.entries(asked.extra).every(([name, value]) => isSameExtra(name, value, accepted.extra?.[name]))
    )
  }

  /** A price that may change before it is paid carries a seal, by which it is known again while it is good. */
  #quoted(requirement: PaymentRequirements, binding: string): PaymentRequirements {
    const until = Math.floor(Date.now() / 1000) + requirement.maxTimeoutSeconds
    const quote = `${until}.${this.#seal(requirement, until, binding)}`
    return { ...requirement, extra: { ...requirement.extra, quote } }
  }

  #isQuoted(accepted: PaymentRequirements, binding: string): boolean {
    const [, until, seal] = /^([0-9]{1,12})\.([A-Za-z0-9_-]{43})$/.exec(String(accepted.extra?.['quote'] ?? '')) ?? []
    if (until === undefined || seal === undefined || Number(until) < Date.now() / 1000) return false
    if (!this.#chains.some((chain) => chain.matches(accepted.network))) return false
    const { quote: _, ...extra } = accepted.extra
    const expected = this.#seal({ ...accepted, extra }, Number(until), binding)
    return timingSafeEqual(Buffer.from(expected), Buffer.from(seal))
  }

  #seal(requirement: PaymentRequirements, until: number, binding: string): string {
    const { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra } = requirement
    const chain = this.chainOf({ network }).caip2
    const text = canonical([binding, until, scheme, chain, amount, asset, payTo, maxTimeoutSeconds, extra])
    return createHmac('sha256', this.#secret).update(text).digest('base64url')
  }
}

function isSameExtra(name: string, asked: unknown, given: unknown): boolean {
  // Who pays the fees was looked at, and a buyer may pay its own; the seal says nothing about what is asked now.
  return name === 'quote' || name === 'feePayer' || canonical(asked) === canonical(given)
}

/** The same text for the same value, however its members are ordered. */
function canonical(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
  return text ?? 'undefined'
}

/** `testnet` and the like, as an id. */
function networkId(network: string): string {
  return Network.known.find(({ name }) => name === network)?.caip2 ?? network
}

function timeoutOf({ maxTimeoutSeconds = defaultTimeoutSeconds }: Accept): number {
  if (!Number.isInteger(maxTimeoutSeconds) || maxTimeoutSeconds < 1 || maxTimeoutSeconds > longestTimeoutSeconds) {
    throw new RangeError(`maxTimeoutSeconds is a whole number from 1 to ${longestTimeoutSeconds}`)
  }
  return maxTimeoutSeconds
}

function checkAmount({ asset, amount, extra }: AssetAmount): AssetAmount {
  if (parseAssetId(String(asset)) === undefined) throw new PriceError(`${asset} is not the number of an asset`)
  if (!/^[1-9][0-9]{0,19}$/.test(String(amount)))
    throw new PriceError(`${amount} is not a positive number of base units`)
  const reserved = reservedExtra.find((name) => name in (extra ?? {}))
  if (reserved !== undefined) throw new PriceError(`extra.${reserved} is set by the gate`)
  return { asset: String(asset), amount: String(amount), extra }
}

function resolve<T>(value: Dynamic<T>, request: Request): T | Promise<T> {
  return typeof value === 'function' ? (value as (request: Request) => T | Promise<T>)(request) : value
}
