/** Passes: one payment opens a route for some minutes, or for some requests. */
import { Bytes, Hash } from '@latchkey/algorand'
import {
  maxPassMinutes,
  maxPassRequests,
  type PassScope,
  PaymentPass,
  type PaymentRequirements,
} from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import { OptionsError } from '../../errors.js'
import type { Admission } from '../exchange/Admission.js'
import { assetOf, describePayment, type LedgerPayment, type Payment } from '../exchange/Payment.js'
import type { GatePassOptions, PassOptions, Route } from '../gate/GateOptions.js'
import type { HeaderList } from '../gate/responses.js'
import { digest, type GateRequest, pathsOf } from '../routes/GateRequest.js'
import { hasDynamicPrice, type PaidRoute } from '../routes/RouteTable.js'
import type { ClaimStore } from '../store/Claims.js'
import type { PassStore } from '../store/PassStore.js'
import { type CookiePlace, PassKeys, type PassToken, readCookies, setCookies } from './PassToken.js'

export type PassesOptions = {
  readonly passes: GatePassOptions | undefined
  readonly routes: { readonly [key: string]: Route }
  readonly claims: ClaimStore
  /** Whether the claims end with this process. */
  readonly isInMemory: boolean
  /** The public origin; undefined if it is the origin of each request. */
  readonly origin: string | undefined
  readonly publicPath: (path: string) => string
  readonly corsHeaders: (request: Request) => HeaderList
  readonly onError: (error: unknown) => void
}

/** The pass offered for a request. */
export type PassOffer = {
  /** The key of the route. */
  readonly route: string
  readonly plan: PassPlan
  readonly terms: PaymentPass.PassTerms
  readonly place: CookiePlace
}

/** The settled payment that a pass is issued for. */
export type PassPayment = {
  readonly payment: LedgerPayment
  readonly requirement: PaymentRequirements
  /** The canonical CAIP-2 id. */
  readonly network: string
  /** The hash of the buyer's secret; undefined for a buyer without a secret. */
  readonly holder: string | undefined
}

export type PassResult =
  | { readonly type: 'admitted'; readonly admission: Admission }
  | { readonly type: 'refused'; readonly error: PassRefusal; readonly message: string }

type PassRefusal = 'pass_invalid' | 'pass_expired' | 'pass_used_up'

/** How long to wait for a node to report the name of an unknown asset. A pass opens its route without the name too. */
const assetWaitMs = 200
/** The maximum difference between the clocks of replicas. */
const maxSkewMs = 5 * 60_000

export class Passes {
  readonly #options: PassesOptions
  readonly #plans: ReadonlyMap<Route, PassPlan>
  readonly #keys: PassKeys
  readonly #store: PassStore | undefined
  readonly #clock = new Clock()

  private constructor(options: PassesOptions) {
    this.#options = options
    const { passes, routes, claims } = options
    this.#plans = new Map(
      Object.entries(routes).flatMap(([key, route]) => {
        const plan = passPlan(key, route, passes)
        return plan === undefined ? [] : [[route, plan] as const]
      }),
    )
    this.#keys = new PassKeys(passes?.secret)
    this.#store = claims.passes
    if (this.#plans.size > 0 && this.#store === undefined) {
      throw new OptionsError(
        'passes need a claims store that has `passes`',
        'Use MemoryClaims, SqliteClaims, PostgresClaims or RedisClaims.',
      )
    }
  }

  /**
   * Undefined if no route has passes.
   *
   * @throws OptionsError for passes that cannot work
   */
  static of(options: PassesOptions): Passes | undefined {
    const passes = new Passes(options)
    return passes.#plans.size === 0 ? undefined : passes
  }

  /** A warning if passes end with this process although they were sold for longer; otherwise undefined. */
  get warning(): string | undefined {
    const { passes, isInMemory } = this.#options
    if (passes?.secret === undefined) return noSecret
    const isCounted = [...this.#plans.values()].some(({ requests }) => requests !== undefined)
    return isCounted && isInMemory ? countedInMemory : undefined
  }

  /** Undefined if the route has no passes. */
  offer(request: GateRequest, { key, route }: PaidRoute): PassOffer | undefined {
    const plan = this.#plans.get(route)
    if (plan === undefined) return undefined
    const { origin, publicPath } = this.#options
    const { url } = request
    const where = [origin ?? url.hostname, ...mountOf(request), key]
    const scope = digest([where, methodsOf(request), plan.opens, ...plan.parts(request)])
    const publicUrl = new URL(publicPath(url.pathname), origin ?? url.origin)
    const { opens, minutes, requests } = plan
    const place = { url: publicUrl, scope, isForRoute: opens === 'route' }
    return { route: key, plan, terms: { scope, opens, minutes, requests }, place }
  }

  /** Decides on a request by the passes that it presents; undefined if it presents none, or pays. */
  async admit(request: GateRequest, offer: PassOffer, chains: readonly Chain[]): Promise<PassResult | undefined> {
    if (request.payment !== null) return undefined
    const header = request.pass
    const isShown = header !== null && header !== PaymentPass.cookieRequest
    const token = isShown ? this.#check(header, offer, chains) : this.#cookie(request, offer, chains)
    if (token === undefined || 'error' in token) return token
    const { transactionId, payer, untilMs } = token
    const chain = chains.find(({ caip2 }) => caip2 === token.network)!
    const asset = await assetInTime(chain, token.asset)
    const taken = token.isCounted ? await this.#store!.take(transactionId, this.#clock.nowMs()) : undefined
    if (taken?.type === 'unknown') return refused('pass_expired')
    if (taken?.type === 'used_up') return refused('pass_used_up')
    const payment = describePayment({
      chain,
      requirement: token,
      payment: { transactionId, payer },
      route: offer.route,
      asset,
    })
    const pass = { untilMs, requestsLeft: taken?.requestsLeft }
    return { type: 'admitted', admission: this.#admission(request, token, { ...payment, state: 'settled', pass }) }
  }

  /**
   * Returns the headers that give the buyer of a settled payment its pass. Never throws, because the paid response must
   * be sent. A buyer who sends the payment again then gets the pass.
   */
  async issue(request: GateRequest, { plan, terms, place }: PassOffer, paid: PassPayment): Promise<HeaderList> {
    // Another program responds to an upgrade. A client with neither a secret nor a page cannot receive a pass.
    const isForPage = request.pass === PaymentPass.cookieRequest && request.isSafe
    if (request.isUpgrade || (paid.holder === undefined && !isForPage)) return []
    try {
      const { transactionId, payer } = paid.payment
      const { payTo, asset, amount } = paid.requirement
      const nowMs = Math.floor(this.#clock.nowMs() / 1000) * 1000
      // The payment itself is the first request.
      const requests = plan.requests === undefined ? undefined : plan.requests - 1
      const { untilMs, requestsLeft } = await this.#store!.issue(transactionId, {
        nowMs,
        untilMs: nowMs + Math.ceil(plan.minutes * 60) * 1000,
        requests,
      })
      if (untilMs <= nowMs || requestsLeft === 0) return []
      const { network } = paid
      const isCounted = requestsLeft !== undefined
      const common = { scope: terms.scope, transactionId, payer, payTo, network, asset, amount, untilMs, isCounted }
      const seal = (holder: string, isCookie: boolean): string =>
        this.#keys.seal({ ...common, holder, isCookie, issuedMs: nowMs })
      const headers: (readonly [string, string])[] = [
        [PaymentPass.passStatusHeader, PaymentPass.formatStatus({ untilMs, requestsLeft })],
        ...varyHeaders,
      ]
      if (paid.holder !== undefined) headers.push([PaymentPass.passHeader, seal(paid.holder, false)])
      if (isForPage) {
        const secret = Bytes.random(32)
        const value = `${seal(Bytes.toBase64Url(Hash.sha256(secret)), true)}.${Bytes.toBase64Url(secret)}`
        const cookies = setCookies(request.cookie, place, value, Math.ceil((untilMs - nowMs) / 1000))
        headers.push(...cookies.map((cookie) => ['Set-Cookie', cookie] as const))
      }
      return headers
    } catch (error) {
      this.#options.onError(error)
      return []
    }
  }

  /** Returns the pass of a valid cookie. Invalid ones are not reported, because a browser sends them automatically. */
  #cookie({ isSafe, cookie }: GateRequest, offer: PassOffer, chains: readonly Chain[]): PassToken | undefined {
    // Other pages can make a browser navigate here, which must not change anything.
    if (!isSafe) return undefined
    for (const value of readCookies(cookie, offer.place)) {
      const found = this.#check(value, offer, chains, true)
      if (!('error' in found)) return found
    }
    return undefined
  }

  #check(
    shown: string,
    { terms }: PassOffer,
    chains: readonly Chain[],
    isCookie = false,
  ): PassToken | Extract<PassResult, { type: 'refused' }> {
    const token = this.#keys.open(shown)
    const nowMs = this.#clock.nowMs()
    const isValid =
      token !== undefined &&
      token.isCookie === isCookie &&
      token.scope === terms.scope &&
      chains.some(({ caip2 }) => caip2 === token.network) &&
      token.issuedMs <= nowMs + maxSkewMs
    if (!isValid) return refused('pass_invalid')
    return token.untilMs <= nowMs ? refused('pass_expired') : token
  }

  #admission({ request }: GateRequest, token: PassToken, payment: Payment): Admission {
    const { transactionId: transaction, payer, network, amount } = token
    const pass = payment.pass!
    const headers: HeaderList = [
      [PaymentPass.passStatusHeader, PaymentPass.formatStatus(pass)],
      ['Cache-Control', 'private'],
      ...varyHeaders,
      ...this.#options.corsHeaders(request),
    ]
    let isOver = false
    const cancel = async (): Promise<void> => {
      if (isOver) return
      isOver = true
      if (token.isCounted) await this.#store!.giveBack(transaction)
    }
    const settle: Admission['settle'] = async () => {
      isOver = true
      return { headers }
    }
    return {
      payer,
      transactionId: transaction,
      settled: { success: true, transaction, network: network as `${string}:${string}`, payer, amount },
      payment: () => payment,
      pass,
      isStreamed: true,
      headers,
      settle,
      cancel,
      // The unread rest of a response is not produced again.
      disconnected: async () => {},
      undelivered: async () => {},
    }
  }
}

const noSecret =
  'passes are signed with a secret of this process only: a restart invalidates them, and other replicas refuse them; ' +
  'pass `passes: { secret }` with at least 32 bytes'
const countedInMemory =
  'the requests of passes are counted in this process only: a restart invalidates the passes, and other replicas ' +
  'refuse them; pass `claims: new SqliteClaims(path)`, or another store that all replicas share'

const varyHeaders: HeaderList = [['Vary', `${PaymentPass.passHeader}, Cookie`]]

const messages: { readonly [error in PassRefusal]: string } = {
  pass_invalid: 'the pass is not valid for this request; pay again',
  pass_expired: 'the pass has expired; pay again',
  pass_used_up: 'all requests of the pass are used up; pay again',
}

function refused(error: PassRefusal): Extract<PassResult, { type: 'refused' }> {
  return { type: 'refused', error, message: messages[error] }
}

async function assetInTime(chain: Chain, asset: string): ReturnType<typeof assetOf> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeUp = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), assetWaitMs)
  })
  try {
    return await Promise.race([assetOf(chain, asset), timeUp])
  } finally {
    clearTimeout(timer)
  }
}

/** Two gates of one server may have the same keys, relative to where they are mounted. */
function mountOf({ path: { path, depth = 0 } }: GateRequest): string[] {
  const segments = path.replace(/[?#].*$/s, '').split('/')
  return segments.filter((segment) => segment !== '').slice(0, depth)
}

/** HEAD counts as GET. A program behind the gate may run the handler of another method. */
function methodsOf({ method, overrides }: GateRequest): string[] {
  const methods = [method, ...overrides].map((one) => one.toUpperCase())
  return [...new Set(methods.map((one) => (one === 'HEAD' ? 'GET' : one)))].sort()
}

/** Never goes back, so that setting the clock back while the process runs extends no pass. */
class Clock {
  readonly #offsetMs = Date.now() - performance.now()

  nowMs(): number {
    return Math.max(Date.now(), performance.now() + this.#offsetMs)
  }
}

/** The passes of a route. */
type PassPlan = {
  readonly opens: PassScope
  readonly minutes: number
  /** Undefined if requests are not counted. */
  readonly requests: number | undefined
  /** The parts of a request, in addition to route and method, that decide whether a pass opens it. */
  readonly parts: (request: GateRequest) => readonly unknown[]
}

const defaultMinutes = 30 * 24 * 60

/**
 * Undefined if the route has no passes.
 *
 * @throws OptionsError for a value that cannot be used
 */
function passPlan(key: string, route: Route, ofGate: PassOptions | undefined): PassPlan | undefined {
  if (route?.passes === false) return undefined
  const isOfGate = route?.passes === undefined && (ofGate?.minutes ?? ofGate?.requests) !== undefined
  const options = isOfGate ? ofGate : route?.passes
  if (options === undefined) return undefined
  const { minutes, requests } = options
  if (minutes === undefined && requests === undefined) {
    throw new OptionsError(`${key}: passes has neither minutes nor requests`, 'Set one of them, or both.')
  }
  check(key, 'minutes', minutes, (value) => value > 0 && value <= maxPassMinutes, `a number up to ${maxPassMinutes}`)
  const isCount = (value: number): boolean => Number.isInteger(value) && value >= 2 && value <= maxPassRequests
  check(key, 'requests', requests, isCount, 'an integer of at least 2 (the payment itself pays for the first request)')
  const opens = scopeOf(key, route, options)
  return { opens, minutes: minutes ?? defaultMinutes, requests, parts: parts[opens] }
}

const parts: { readonly [opens in PassScope]: PassPlan['parts'] } = {
  route: () => [],
  path: (request) => pathsOf(request).map((path) => path.replace(/\?.*$/s, '')),
  request: (request) => [...pathsOf(request), request.pricedBy],
}

/** A price that a function chooses is for one request, and so is its pass. */
function scopeOf(key: string, route: Route, { scope }: PassOptions): PassScope {
  const isDynamic = hasDynamicPrice(route)
  if (scope !== undefined && scope !== 'route' && scope !== 'path') {
    throw new OptionsError(`${key}: passes.scope cannot be ${JSON.stringify(scope)}`, 'Use "route" or "path".')
  }
  if (isDynamic && scope !== undefined) {
    const hint = 'Leave it out: a price from a function applies to one request, and its pass opens that same request.'
    throw new OptionsError(`${key}: passes.scope cannot be set if a price or a payee is a function`, hint)
  }
  return isDynamic ? 'request' : (scope ?? 'route')
}

function check(key: string, name: string, value: unknown, isValid: (value: number) => boolean, expected: string): void {
  if (value === undefined || (typeof value === 'number' && isValid(value))) return
  throw new OptionsError(`${key}: passes.${name} cannot be ${JSON.stringify(value)}`, `Pass ${expected}.`)
}
