/**
 * The request that a payment is for: its identity, the price that was paid for it recently, and the passes that open it
 * without a payment. A pass is presented only to the origin that issued it.
 */
import { BoundedMap, Bytes, Hash, Json, Network } from '@latchkey/algorand'
import {
  isPassText,
  maxPassMinutes,
  type PassScope,
  PaymentHeaders,
  PaymentPass,
  type PaymentRequired,
  type PaymentRequirements,
  PaymentSecret,
} from '@latchkey/x402-wire'

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

/** A pass, with everything needed to present it. A stored pass is a secret. */
export type StoredPass = {
  /** The origin that issued the pass. The pass is presented to no other origin. */
  readonly origin: string
  /** The seller's identifier of the requests that the pass opens. */
  readonly scope: string
  readonly opens: PassScope
  /** Requests that the pass is known to open, such as `GET /weather`. */
  readonly requests: readonly string[]
  /** The pass as issued. */
  readonly pass: string
  /** The secret of the payment, which proves that the pass belongs to this buyer. */
  readonly secret: string
  /** When the pass expires, in milliseconds since 1970. */
  readonly untilMs: number
  /** How many requests the pass still opens; undefined if requests are not counted. */
  readonly requestsLeft: number | undefined
}

/** Where a buyer keeps its passes. Implemented by `MemoryPassCache` and `FilePassCache` (`@latchkey/x402/file`). */
export type PassCache = {
  /** The passes of an origin that have not expired. */
  readonly all: (origin: string) => readonly StoredPass[]
  /** Stores a pass and replaces an earlier one of the same origin and scope. */
  readonly put: (pass: StoredPass) => void
  /** Removes a pass. */
  readonly remove: (origin: string, scope: string) => void
}

/** Bounded, because sellers choose how many passes they issue. */
export const maxPasses = 1_000
/** How many requests are remembered for a pass. */
export const maxRequests = 100
const maxRequestLength = 2_048

/** Passes in memory. */
export class MemoryPassCache implements PassCache {
  readonly #passes = new BoundedMap<string, StoredPass>(maxPasses)

  all(origin: string): StoredPass[] {
    for (const [key, { untilMs }] of this.#passes) if (untilMs <= Date.now()) this.#passes.delete(key)
    return [...this.#passes.values()].filter((pass) => pass.origin === origin)
  }

  put(pass: StoredPass): void {
    const key = passKeyOf(pass.origin, pass.scope)
    this.#passes.delete(key)
    this.#passes.set(key, pass)
  }

  remove(origin: string, scope: string): void {
    this.#passes.delete(passKeyOf(origin, scope))
  }
}

/** Identifies a pass. */
export function passKeyOf(origin: string, scope: string): string {
  return `${origin} ${scope}`
}

/** Parses a pass from a file; undefined if the value is not a pass. */
export function parseStoredPass(value: unknown): StoredPass | undefined {
  if (!Json.isObject(value)) return undefined
  const { origin, scope, opens, requests, pass, secret, untilMs, requestsLeft } = value
  const isText = (one: unknown): one is string => typeof one === 'string' && one.length <= maxRequestLength
  const isNumber = (one: unknown): boolean => Number.isSafeInteger(one) && (one as number) >= 0
  const isValid =
    isText(origin) &&
    isText(scope) &&
    (opens === 'route' || opens === 'path' || opens === 'request') &&
    Array.isArray(requests) &&
    requests.length <= maxRequests &&
    requests.every(isText) &&
    isText(pass) &&
    isPassText(pass) &&
    isText(secret) &&
    /^[\w-]{43}$/.test(secret) &&
    isNumber(untilMs) &&
    (untilMs as number) <= Date.now() + maxPassMinutes * 60_000 &&
    (requestsLeft === undefined || isNumber(requestsLeft))
  return isValid ? (value as unknown as StoredPass) : undefined
}

export type Send = (target: Request, changes?: RequestInit) => Promise<Response>

const passes = new WeakMap<Response, PaymentPass.PassStatus>()

/**
 * The remaining validity of the pass that {@link payingFetch} presented for a response or received with it, as reported
 * by the seller. Undefined if there is none.
 */
export function passOf(response: Response): PaymentPass.PassStatus | undefined {
  return passes.get(response)
}

/** A payment that was sent, with the header that sends it again. */
type SentPayment = { readonly repeatHeader: string }

/** The passes of a buyer for the requests of one call. A cache that fails is treated as empty. */
export class PassRequests {
  readonly #cache: PassCache
  readonly #send: Send

  constructor(cache: PassCache, send: Send) {
    this.#cache = cache
    this.#send = send
  }

  /**
   * The response to a request that a pass is known to open; undefined if there is none, or the request did not reach
   * the gate.
   */
  async showKnown(request: Request): Promise<Response | undefined> {
    const pass = this.#all(request).find(({ opens, requests }) => requests.includes(requestKey(request, opens)))
    if (pass === undefined) return undefined
    const response = await this.#show(pass, request)
    // A redirect in front of the gate is followed like any other, without the pass.
    const isRedirect = response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)
    if (!isRedirect || passOf(response) !== undefined) return response
    await response.body?.cancel().catch(() => {})
    return undefined
  }

  /** The response to a request that was answered with a price, if there is a pass for the offered terms. */
  async showFor(required: PaymentRequired, target: Request): Promise<Response | undefined> {
    const terms = PaymentPass.readTerms(required.extensions)
    const pass = this.#all(target).find(({ scope }) => scope === terms?.scope)
    return pass === undefined ? undefined : this.#show(pass, target)
  }

  /** Stores the pass that came with the response to a payment. */
  keep(required: PaymentRequired, target: Request, { repeatHeader }: SentPayment, response: Response): void {
    const pass = PaymentPass.readPass(response.headers)
    const status = PaymentPass.readStatus(response.headers)
    const terms = PaymentPass.readTerms(required.extensions)
    if (pass === undefined || status === undefined || terms === undefined) return
    const secret = PaymentSecret.secretIn(PaymentHeaders.decodePayment(repeatHeader))
    const maxUntilMs = Date.now() + PaymentPass.maxPassMinutes * 60_000
    if (secret === undefined || status.requestsLeft === 0 || status.untilMs <= Date.now()) return
    const { scope, opens } = terms
    const requests = [requestKey(target, opens)]
    const untilMs = Math.min(status.untilMs, maxUntilMs)
    const { origin } = new URL(target.url)
    passes.set(response, { untilMs, requestsLeft: status.requestsLeft })
    this.#put({ origin, scope, opens, requests, pass, secret, untilMs, requestsLeft: status.requestsLeft })
  }

  async #show(pass: StoredPass, target: Request): Promise<Response> {
    const headers = new Headers(target.headers)
    headers.set(PaymentPass.passHeader, `${pass.pass}.${pass.secret}`)
    // Following a redirect would send the pass to its target.
    const response = await this.#send(target, { headers, redirect: 'manual' })
    this.#learn(pass, target, response)
    return response
  }

  /** Updates the stored pass from the response to it. */
  #learn(pass: StoredPass, target: Request, response: Response): void {
    const key = requestKey(target, pass.opens)
    const others = pass.requests.filter((one) => one !== key)
    const status = PaymentPass.readStatus(response.headers)
    if (status !== undefined) passes.set(response, status)
    if (status?.requestsLeft === 0) this.#remove(pass)
    else if (status !== undefined) {
      const requests = [key, ...others].slice(0, maxRequests)
      const isSame = requests.length === pass.requests.length && pass.requests.includes(key)
      if (!isSame || status.requestsLeft !== pass.requestsLeft) {
        this.#put({ ...pass, requests, requestsLeft: status.requestsLeft })
      }
    } else if (response.status === 402) {
      const header = response.headers.get(PaymentHeaders.paymentRequired)
      const required =
        header === null ? undefined : PaymentHeaders.orUndefined(() => PaymentHeaders.decodeRequired(header))
      // The request now has another scope, or the pass has expired.
      if (PaymentPass.readTerms(required?.extensions)?.scope === pass.scope) this.#remove(pass)
      else this.#put({ ...pass, requests: others })
    }
  }

  #all({ url, headers }: Request): readonly StoredPass[] {
    if (headers.has(PaymentPass.passHeader)) return []
    try {
      return this.#cache.all(new URL(url).origin).filter(({ untilMs }) => untilMs > Date.now())
    } catch {
      return []
    }
  }

  #put(pass: StoredPass): void {
    try {
      this.#cache.put(pass)
    } catch {
      // The response is more important. The next request is paid for, within the limits.
    }
  }

  #remove({ origin, scope }: StoredPass): void {
    try {
      this.#cache.remove(origin, scope)
    } catch {
      // The pass is refused again, and the request is then paid for.
    }
  }
}

/** The requests that a pass does not tell apart have the same key. */
function requestKey({ method, url }: Request, opens: PaymentPass.PassScope): string {
  const { pathname, search } = new URL(url)
  return `${method === 'HEAD' ? 'GET' : method} ${pathname}${opens === 'request' ? search : ''}`
}
