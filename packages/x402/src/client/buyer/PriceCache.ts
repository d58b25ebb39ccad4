/**
 * Remembers recent prices of sellers, so that the next request for the same resource carries its payment immediately.
 */
import { BoundedMap, Json, Network } from '@latchkey/algorand'
import { PaymentPass, type PaymentRequired, type PaymentRequirements, PaymentSecret } from '@latchkey/x402-wire'
import * as PaidRequest from './PaidRequest.js'

type Price = {
  /** Contains only the requirement that was paid. */
  readonly required: PaymentRequired
  readonly untilMs: number
  /** The only request that the price applies to, because a quote may depend on headers and body. */
  readonly requestId: string | undefined
}

/** How long a price is remembered after it was paid. */
const priceMs = 5 * 60_000
/** A quote may expire while the request is in transit. */
const quoteMarginMs = 10_000
/** How long no prices are remembered for an origin that refused a payment because its price had changed. */
const refusedMs = 60 * 60_000
const maxPrices = 1_000

export class PriceCache {
  readonly #prices = new BoundedMap<string, Price>(maxPrices)
  /** Expiry times by origin. */
  readonly #refused = new BoundedMap<string, number>(maxPrices)
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => Date.now()) {
    this.#nowMs = nowMs
  }

  /** The price paid for the same resource; undefined if it is no longer known. */
  find(request: PaidRequest.PaidRequest): PaymentRequired | undefined {
    const price = this.#prices.get(keyOf(request))
    if (price === undefined || price.untilMs <= this.#nowMs()) return undefined
    if (price.requestId !== undefined && price.requestId !== PaidRequest.idOf(request, '')) return undefined
    return price.required
  }

  /**
   * Remembers a paid price. Applies only to sellers that support the buyer's secret, because they settle a payment only
   * for the request that they serve, and never one that they refuse. Not for sellers of passes, because the next
   * request presents the pass.
   */
  keep(request: PaidRequest.PaidRequest, required: PaymentRequired, accepted: PaymentRequirements): void {
    const now = this.#nowMs()
    const { extensions } = required
    if (!PaymentSecret.isDeclared(extensions) || PaymentPass.readTerms(extensions) !== undefined) return
    if ((this.#refused.get(originOf(request)) ?? 0) > now) return
    const quotedMs = quotedUntilMs(accepted)
    const requestId = quotedMs === undefined ? undefined : PaidRequest.idOf(request, '')
    const untilMs = Math.min(now + priceMs, (quotedMs ?? Number.POSITIVE_INFINITY) - quoteMarginMs)
    this.#prices.set(keyOf(request), { required: { ...required, accepts: [accepted] }, untilMs, requestId })
  }

  forget(request: PaidRequest.PaidRequest): void {
    this.#prices.delete(keyOf(request))
  }

  /**
   * Call this if the seller's price has changed. A seller that changes prices on purpose gets no such second payment
   * for an hour.
   */
  refuse(request: PaidRequest.PaidRequest): void {
    this.forget(request)
    this.#refused.set(originOf(request), this.#nowMs() + refusedMs)
  }
}

/** Whether a seller still asks for the paid price, under any id of its network. */
export function isAsked({ accepts }: PaymentRequired, paid: PaymentRequirements): boolean {
  const terms = termsOf(paid)
  return accepts.some((one) => termsOf(one) === terms)
}

/** Equal terms produce equal texts. The quote is left out because it is always new. */
function termsOf({ network, extra, ...requirement }: PaymentRequirements): string {
  const { quote: _, ...terms } = Json.isObject(extra) ? extra : {}
  return canonical({ ...requirement, network: Network.normalize(network) ?? network, extra: terms })
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    Json.isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )
}

/** When a quote of our gate expires; 0 for a quote of another form. */
function quotedUntilMs({ extra }: PaymentRequirements): number | undefined {
  const quote = extra?.['quote']
  if (quote === undefined) return undefined
  const [, seconds] = /^([0-9]{1,12})\./.exec(String(quote)) ?? []
  return Number(seconds ?? 0) * 1000
}

function keyOf({ method, url }: PaidRequest.PaidRequest): string {
  return `${method} ${url.split('#', 1)[0]}`
}

function originOf({ url }: PaidRequest.PaidRequest): string {
  return new URL(url).origin
}
