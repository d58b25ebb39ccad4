/** The prices that sellers asked lately: the next request for the same thing carries its payment at once. */
import { BoundedMap, Json, Network } from '@latchkey/algorand'
import * as PaymentPass from '../wire/PaymentPass.js'
import * as PaymentSecret from '../wire/PaymentSecret.js'
import type { PaymentRequired, PaymentRequirements } from '../wire/types.js'
import * as PaidRequest from './PaidRequest.js'

type Price = {
  /** With the one requirement that was paid. */
  readonly required: PaymentRequired
  readonly untilMs: number
  /** The only request that it is for: a quote may depend on headers and body. */
  readonly requestId: string | undefined
}

/** How long a price is remembered after it was paid. */
const priceMs = 5 * 60_000
/** A quote ends while the request is under way. */
const quoteMarginMs = 10_000
/** How long nothing is remembered of an origin that refused a payment, because it asked another price by then. */
const refusedMs = 60 * 60_000
const maxPrices = 1_000

export class PriceCache {
  readonly #prices = new BoundedMap<string, Price>(maxPrices)
  /** By origin, until when. */
  readonly #refused = new BoundedMap<string, number>(maxPrices)
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => Date.now()) {
    this.#nowMs = nowMs
  }

  /** What was paid for the same thing; undefined if it is not known any more. */
  find(request: PaidRequest.PaidRequest): PaymentRequired | undefined {
    const price = this.#prices.get(keyOf(request))
    if (price === undefined || price.untilMs <= this.#nowMs()) return undefined
    if (price.requestId !== undefined && price.requestId !== PaidRequest.idOf(request, '')) return undefined
    return price.required
  }

  /**
   * Remembers what was paid. Only of sellers that take the buyer's secret: they settle a payment for the request that they
   * serve, and none that they refuse. Where a pass is sold, the next request shows it.
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

  /** The seller asks another price by now. One that did so on purpose gets no second payment like this for an hour. */
  refuse(request: PaidRequest.PaidRequest): void {
    this.forget(request)
    this.#refused.set(originOf(request), this.#nowMs() + refusedMs)
  }
}

/** Whether a seller still asks for what was paid, in any spelling of its network. */
export function isAsked({ accepts }: PaymentRequired, paid: PaymentRequirements): boolean {
  const terms = termsOf(paid)
  return accepts.some((one) => termsOf(one) === terms)
}

/** The same text for the same terms. A quote is new each time. */
function termsOf({ network, extra, ...requirement }: PaymentRequirements): string {
  const { quote: _, ...terms } = Json.isObject(extra) ? extra : {}
  return canonical({ ...requirement, network: Network.normalize(network) ?? network, extra: terms })
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    Json.isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )
}

/** When a quote of our gate ends; at once if it is of another form. */
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
