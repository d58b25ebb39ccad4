/** The request that a payment is for: its identity, and the price that was paid for it recently. */
import { BoundedMap, Bytes, Hash, Json, Network } from '@latchkey/algorand'
import { PaymentPass, type PaymentRequired, type PaymentRequirements, PaymentSecret } from '@latchkey/x402-wire'

/** The request that a payment is for. */
export type PaidRequest = {
  readonly method: string
  readonly url: string
  readonly headers?: Iterable<readonly [string, string]> | undefined
  readonly body?: Uint8Array | undefined
}

/** Headers that differ between attempts and do not change the answer. */
const volatile = new Set([
  'accept-encoding',
  'baggage',
  'connection',
  'content-length',
  'date',
  'sentry-trace',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-amzn-trace-id',
  'x-correlation-id',
  'x-request-id',
])

/**
 * Identifies a request by payer, method, URL, headers and body. The answer to a payment belongs to one request: with
 * other credentials or another range, it could be another person's answer, or another part of it.
 */
export function idOf(request: PaidRequest, payer: string): string {
  const ids = idsOfFixed.get(request)
  const known = ids?.get(payer)
  if (known !== undefined) return known
  const id = newIdOf(request, payer)
  ids?.set(payer, id)
  return id
}

/** The ids of fixed requests, by payer. Several steps of a payment need the id. */
const idsOfFixed = new WeakMap<PaidRequest, Map<string, string>>()

/** Marks a request as final, including its headers and body. */
export function fixed(request: PaidRequest): PaidRequest {
  idsOfFixed.set(request, new Map())
  return request
}

function newIdOf({ method, url, headers = [], body }: PaidRequest, payer: string): string {
  const target = new URL(url)
  target.hash = ''
  const given = [...headers].map(([name, value]): [string, string] => [name.toLowerCase(), value])
  const boundary = boundaryOf(given)
  const lines = given
    .map(([name, value]) => [name, name === 'content-type' ? value.replace(boundary ?? '', '') : value])
    .filter(([name]) => !volatile.has(name!))
    .sort(([a], [b]) => (a! < b! ? -1 : a! > b! ? 1 : 0))
  const digest = body === undefined ? '' : Bytes.toBase64Url(Hash.sha256(withoutBoundary(body, boundary)))
  const parts = JSON.stringify([payer, method.toUpperCase(), target.href, lines, digest])
  return Bytes.toBase64Url(Hash.sha256(Bytes.fromUtf8(parts)))
}

/** Each submission of a form has a new boundary between its parts. A short boundary was chosen by the caller. */
function boundaryOf(headers: readonly (readonly [string, string])[]): string | undefined {
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? ''
  return /^multipart\/form-data;.*boundary="?([^";]{16,})/i.exec(type)?.[1]
}

function withoutBoundary(body: Uint8Array, boundary: string | undefined): Uint8Array {
  if (boundary === undefined) return body
  // This encoding maps each byte to a different character.
  return Bytes.fromUtf8(new TextDecoder('windows-1252').decode(body).replaceAll(`--${boundary}`, '--'))
}

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

/**
 * Remembers recent prices of sellers, so that the next request for the same resource carries its payment immediately.
 */
export class PriceCache {
  readonly #prices = new BoundedMap<string, Price>(maxPrices)
  /** Expiry times by origin. */
  readonly #refused = new BoundedMap<string, number>(maxPrices)
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => Date.now()) {
    this.#nowMs = nowMs
  }

  /** The price paid for the same resource; undefined if it is no longer known. */
  find(request: PaidRequest): PaymentRequired | undefined {
    const price = this.#prices.get(keyOf(request))
    if (price === undefined || price.untilMs <= this.#nowMs()) return undefined
    if (price.requestId !== undefined && price.requestId !== idOf(request, '')) return undefined
    return price.required
  }

  /**
   * Remembers a paid price. Applies only to sellers that support the buyer's secret, because they settle a payment only
   * for the request that they serve, and never one that they refuse. Not for sellers of passes, because the next
   * request presents the pass.
   */
  keep(request: PaidRequest, required: PaymentRequired, accepted: PaymentRequirements): void {
    const now = this.#nowMs()
    const { extensions } = required
    if (!PaymentSecret.isDeclared(extensions) || PaymentPass.readTerms(extensions) !== undefined) return
    if ((this.#refused.get(originOf(request)) ?? 0) > now) return
    const quotedMs = quotedUntilMs(accepted)
    const requestId = quotedMs === undefined ? undefined : idOf(request, '')
    const untilMs = Math.min(now + priceMs, (quotedMs ?? Number.POSITIVE_INFINITY) - quoteMarginMs)
    this.#prices.set(keyOf(request), { required: { ...required, accepts: [accepted] }, untilMs, requestId })
  }

  forget(request: PaidRequest): void {
    this.#prices.delete(keyOf(request))
  }

  /**
   * Call this if the seller's price has changed. A seller that changes prices on purpose gets no such second payment
   * for an hour.
   */
  refuse(request: PaidRequest): void {
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

function keyOf({ method, url }: PaidRequest): string {
  return `${method} ${url.split('#', 1)[0]}`
}

function originOf({ url }: PaidRequest): string {
  return new URL(url).origin
}
