/** The check in front of a route, from a request to a decision. Each web framework has an adapter that applies it. */
import { AlgodError } from '@latchkey/algod'
import * as Tracing from '@latchkey/algod/tracing'
import { Network } from '@latchkey/algorand'
import {
  PaymentIdentifier,
  PaymentPass,
  type PaymentRequired,
  type PaymentRequirements,
  PaymentSecret,
} from '@latchkey/x402-wire'
import { chainList, parseAssetId } from '../../chain/Chain.js'
import * as Funds from '../../chain/Funds.js'
import { OptionsError, warn, X402Error } from '../../errors.js'
import { HookError } from '../../hooks.js'
import type { Decision, GateResponse } from '../exchange/Admission.js'
import type { ExchangeParts } from '../exchange/ExchangeParts.js'
import { FacilitatorError } from '../exchange/FacilitatorClient.js'
import { Facilitators } from '../exchange/Facilitators.js'
import { decidePurchase } from '../exchange/namedPurchase.js'
import { PaidExchange } from '../exchange/PaidExchange.js'
import * as PaidRequest from '../exchange/PaidRequest.js'
import { noteGranted, notePayment, PaymentStatus } from '../exchange/Payment.js'
import { Renewals, Unfinished } from '../exchange/Renewals.js'
import { SignedOffers } from '../exchange/SignedOffers.js'
import { SignedReceipts } from '../exchange/SignedReceipts.js'
import { UnusedAuthorizations } from '../exchange/UnusedAuthorizations.js'
import { UsageRecovery } from '../exchange/UsageRecovery.js'
import { Withdrawals } from '../exchange/Withdrawals.js'
import { Passes, type PassOffer } from '../passes/Passes.js'
import { Paywall } from '../paywall/Paywall.js'
import * as GateRequest from '../routes/GateRequest.js'
import { documentFor, dollarPrice, type ListedRoute } from '../routes/openApi.js'
import { type Accept, priceOf, Requirements, schemeOf } from '../routes/Requirements.js'
import type { RouteDiscovery } from '../routes/RouteDiscovery.js'
import { type PaidRoute, PaidRoutes, RouteError } from '../routes/RouteTable.js'
import { SalesRecovery } from '../sales/SalesRecovery.js'
import { type ClaimStore, MemoryClaims } from '../store/Claims.js'
import { SalesLog } from '../store/Sales.js'
import { type CompleteOptions, completeOptions } from './completeOptions.js'
import { decidingHooks, hookRequest, protectedRequest } from './DecidingHooks.js'
import { type EventPayment, eventRequest, GateEvents, Notifications } from './GateEvents.js'
import {
  acceptsOf,
  checkedHeader,
  discoveryOf,
  facilitatorClients,
  GateError,
  type GateOptions,
  headerWarning,
  identifierOf,
  isReplica,
  memoryClaimsWarning,
  originOf,
  type PaymentIdentifierOption,
  type Route,
  routeError,
  sentence,
  unpaidLimitOf,
} from './GateOptions.js'
import * as GateTrace from './GateTrace.js'
import { claimedElsewhereText, limitedWarning, manyUnpaidText } from './limitedWarning.js'
import * as responses from './responses.js'

export type { Admission, Decision } from '../exchange/Admission.js'
export { GateError } from './GateOptions.js'

/** The `error` of a 402 to a request without a payment. */
const noPayment = 'Payment required'

/**
 * Decides which requests require payment, and has their payments verified and settled.
 *
 * @example
 * const gate = await Gate.open({ routes: { 'GET /weather': '$0.01' }, payTo, facilitators: url })
 */
export class Gate {
  readonly #routes: PaidRoutes
  readonly #discovery: ReadonlyMap<string, RouteDiscovery>
  /** The routes whose purchases buyers may or must name. */
  readonly #identifiers = new Map<string, PaymentIdentifierOption>()
  readonly #options: CompleteOptions
  readonly #facilitators: Facilitators
  readonly #requirements: Requirements
  readonly #claims: ClaimStore
  readonly #exchange: ExchangeParts
  readonly #paywall: Paywall
  readonly #notifications: Notifications
  readonly #sales: SalesLog
  readonly #events: GateEvents
  readonly #unused: UnusedAuthorizations
  readonly #recovery: SalesRecovery | undefined
  /** Undefined if the store does not support prices by usage. */
  readonly #usageRecovery: UsageRecovery | undefined
  /** Undefined if no route has passes. */
  readonly #passes: Passes | undefined
  readonly #signedOffers: SignedOffers | undefined
  readonly #onError: (error: unknown) => void

  private constructor(options: CompleteOptions) {
    this.#options = { ...options, origin: originOf(options.origin) }
    this.#onError = safely(options.onError ?? warn)
    if (options.routes === undefined) throw new RouteError('', 'routes is not set')
    this.#routes = new PaidRoutes(options.routes, options.basePath)
    this.#discovery = discoveryOf(options)
    this.#facilitators = new Facilitators(facilitatorClients(options.facilitators), this.#onError)
    this.#requirements = new Requirements({
      chains: chainList(options.chains),
      facilitators: this.#facilitators,
      quoteSecret: options.quoteSecret,
      networkIds: options.networkIds,
    })
    this.#claims = options.claims ?? new MemoryClaims()
    for (const [key, route] of Object.entries(options.routes)) {
      const identifier = identifierOf(key, route, options, this.#claims)
      if (identifier !== undefined) this.#identifiers.set(key, identifier)
    }
    this.#notifications = new Notifications({ hooks: options, onError: this.#onError })
    this.#sales = new SalesLog(this.#claims.sales, this.#onError)
    this.#events = new GateEvents(this.#notifications, this.#sales)
    this.#recovery = this.#recoveryOf(options)
    const limited = () => safely(limitedWarning((text) => this.#warn(text)))
    const [warnOfUnpaid, warnOfClaim] = [limited(), limited()]
    const renewals = new Renewals({ claims: this.#claims, onError: this.#onError })
    const shared = {
      events: this.#events,
      facilitators: this.#facilitators,
      claims: this.#claims,
      renewals,
      unfinished: new Unfinished(this.#claims, renewals, this.#onError),
      onError: this.#onError,
    }
    this.#unused = new UnusedAuthorizations(shared)
    this.#exchange = {
      ...shared,
      hooks: decidingHooks(options, this.#onError),
      cors: options.cors ?? false,
      receipts: SignedReceipts.of(this.#options, this.#onError),
      respond: (request, response) => this.#respond(request, response),
      maxUnpaidStreams: unpaidLimitOf(options),
      onManyUnpaid: () => warnOfUnpaid(manyUnpaidText),
      onClaimedElsewhere: (transactionId) => warnOfClaim(claimedElsewhereText(transactionId)),
      withdrawals: new Withdrawals(),
      onUnused: (...call) => this.#unused.add(...call),
    }
    const { usage: store } = this.#claims
    // An earlier deployment may have had prices by usage, and left streams that it has not charged.
    this.#usageRecovery = store && new UsageRecovery({ ...this.#exchange, store, chains: chainList(options.chains) })
    this.#passes = Passes.of({
      passes: options.passes,
      routes: options.routes,
      claims: this.#claims,
      isInMemory: this.#claims instanceof MemoryClaims,
      origin: this.#options.origin,
      publicPath: (path) => this.#routes.publicPath(path),
      corsHeaders: (request) => responses.corsHeaders(request, options.cors ?? false),
      onError: this.#onError,
    })
    this.#signedOffers = SignedOffers.of(this.#options, this.#onError)
    this.#paywall = new Paywall(options.paywall, options.onWarning)
  }

  /**
   * Checks the routes and opens the gate. Permanent problems are errors; problems that may go away are warnings.
   *
   * @throws {@link GateError} for a price, a network or an account that cannot be paid
   * @throws RouteError for a route that no request can match
   * @throws FacilitatorError for the address of a facilitator that cannot be used
   * @throws OptionsError for an option that cannot be used
   * @throws ChainError for a network that cannot be used
   * @throws AlgodError if the network is local and no node responds
   * @throws PaywallError for options that cannot produce a page
   */
  static async open(options: GateOptions): Promise<Gate> {
    const complete = await completeOptions(options)
    const gate = new Gate(complete)
    if (gate.#claims instanceof MemoryClaims && isReplica()) gate.#warn(memoryClaimsWarning)
    if (gate.#passes?.warning !== undefined) gate.#warn(gate.#passes.warning)
    await gate.#facilitators.refresh()
    for (const [key, route] of Object.entries(complete.routes)) {
      for (const accept of acceptsOf(route, key)) await gate.#check(key, route, accept)
      await gate.#checkHeader(key, route)
    }
    gate.#recovery?.start()
    gate.#usageRecovery?.start()
    return gate
  }

  /**
   * Delivers queued events to the hooks and records pending outcomes. No hook is called afterwards. The store of claims
   * stays open.
   *
   * @param options.timeoutMs how long hooks may take, 5 seconds by default; events that are left are reported to
   * `onError`
   */
  async close({ timeoutMs = 5_000 }: { timeoutMs?: number | undefined } = {}): Promise<void> {
    this.#recovery?.stop()
    this.#usageRecovery?.stop()
    this.#unused.stop()
    const endMs = performance.now() + timeoutMs
    await this.#notifications.close(timeoutMs)
    await this.#sales.close(Math.max(100, endMs - performance.now()))
  }

  /** Whether the gate responds to browsers' preflight requests. */
  get hasCors(): boolean {
    return (this.#options.cors ?? false) !== false
  }

  /** Whether a request to a framework's route, such as `/items/:id`, may require payment. */
  mayMatch(url: string, depth = 0): boolean {
    return this.#routes.mayMatch(url, depth)
  }

  async #check(key: string, { settleFirstAbove, passes }: Route, accept: Accept): Promise<void> {
    const { onWarning = () => {} } = this.#options
    try {
      this.#requirements.check(accept)
      const chain = this.#requirements.chainOf(accept)
      const scheme = schemeOf(accept)
      if (scheme === 'upto' && passes !== undefined && passes !== false) {
        throw new OptionsError('a price by usage cannot have passes', 'Remove `passes` or `upTo`.')
      }
      if (scheme === 'upto' && this.#claims.usage === undefined) {
        const hint = 'Use a store of this package, or implement `usage`.'
        throw new OptionsError('the claims store does not support prices by usage', hint)
      }
      if (scheme === 'upto' && this.#identifiers.has(key)) {
        const hint = 'Set `paymentIdentifier: false` on the route.'
        throw new OptionsError('a purchase with a price by usage cannot be named', hint)
      }
      if (this.#facilitators.kindFor(chain, scheme) === undefined) {
        const of = scheme === 'exact' ? '' : ` by the scheme ${scheme}`
        onWarning(
          `no facilitator currently serves ${Network.describe(chain.caip2)}${of}; ${key} responds with 503 until one does`,
        )
      }
      // A node of another network would report that payments do not exist.
      await chain.parameters()
      if (settleFirstAbove !== undefined) await this.#requirements.amount(settleFirstAbove, accept)
      const price = priceOf(accept)
      if (typeof price === 'function') return
      const { asset } = await this.#requirements.amount(price, accept)
      if (scheme === 'upto' && asset === '0') {
        throw new OptionsError('ALGO cannot be charged by usage', 'Price the route in an asset.')
      }
      if (typeof accept.payTo === 'function') return
      const problem = await Funds.receiverProblem(chain, accept.payTo, parseAssetId(asset)!)
      if (problem !== undefined) {
        throw new GateError('receiver_not_opted_in', problem.message, { hint: sentence(problem.hint) })
      }
    } catch (error) {
      if (!(error instanceof AlgodError)) throw routeError(key, error as Error)
      onWarning(`${key}: cannot check whether payments can be received: ${error.message}`)
    }
  }

  /** Warns about prices that do not fit into the header. Prices from functions are known only with a request. */
  async #checkHeader(key: string, route: Route): Promise<void> {
    const fixed = acceptsOf(route, key).filter(
      (accept) => typeof priceOf(accept) !== 'function' && typeof accept.payTo !== 'function',
    )
    const url = new URL(key.replace(/^[^/]*/, ''), this.#options.origin ?? 'https://shop.example')
    const request = GateRequest.read(new Request(url), { key }, { path: url.pathname })
    try {
      const built = await Promise.all(fixed.map((accept) => this.#requirements.build(accept, request, route)))
      const offers = this.#requirements.offered(built.filter((one) => one !== undefined))
      const unsigned = this.#required(request, key, route, offers, undefined)
      const required = (await this.#signedOffers?.addTo(unsigned)) ?? unsigned
      const warning = headerWarning(key, checkedHeader(required))
      if (warning !== undefined) this.#warn(warning)
    } catch (error) {
      // A node that does not respond was already reported.
      if (!(error instanceof AlgodError)) throw routeError(key, error as Error)
    }
  }

  /**
   * Decides on a request. Never throws because of a request's content: errors of nodes and facilitators are responses.
   *
   * @param path the whole path, and the adapter's information about it; by default the path of the URL
   * @param clientAddress the IP address of the client, if it is known; identifies a buyer without a secret
   */
  async decide(
    request: Request,
    path: GateRequest.RequestPath = { path: pathOf(request.url) },
    clientAddress?: string,
  ): Promise<Decision> {
    const document = this.#document(request, path)
    if (document !== undefined) return this.#respond(request, document)
    const found = this.#routes.find(request, path)
    if (found.type === 'free') return found
    if (found.type === 'options') return this.#respond(request, responses.preflight())
    if (found.type === 'refused') {
      if (found.error !== undefined) this.#onError(found.error)
      return this.#respond(request, found.response)
    }
    try {
      const { key, route } = found.value
      const read = GateRequest.read(request, { key, varyBy: route.varyBy }, path, clientAddress)
      if (!Tracing.isOn()) return await this.#decidePaid(read, found.value)
      return await GateTrace.decide(read, key, () => this.#decidePaid(read, found.value))
    } catch (error) {
      // Nothing is served after an error.
      this.#onError(error)
      return this.#respond(request, errorResponse(error))
    }
  }

  #document(request: Request, { path }: GateRequest.RequestPath): Response | undefined {
    const { discovery: options, origin } = this.#options
    if (options === undefined) return undefined
    const prefix = this.#routes.publicPath('/').replace(/\/$/, '')
    return documentFor({ method: request.method, url: request.url, path }, options, () => this.#listed(prefix), origin)
  }

  #listed(prefix: string): ListedRoute[] {
    return Object.entries(this.#options.routes).map(([key, route]) => {
      const accepts = acceptsOf(route, key).map((accept) => ({ accept, chain: this.#requirements.chainOf(accept) }))
      return { key, prefix, route, discovery: this.#discovery.get(key)!, price: dollarPrice(route, accepts) }
    })
  }

  async #decidePaid(request: GateRequest.GateRequest, paidRoute: PaidRoute): Promise<Decision> {
    const accepts = paidRoute.accepts.map((accept) => ({ accept, chain: this.#requirements.chainOf(accept) }))
    const response =
      (await this.#paywall.assetResponse(request.request, accepts)) ?? this.#routes.refusalOf(request, paidRoute)
    if (response !== undefined) return this.#respond(request.request, response)
    const decided = this.#exchange.hooks?.has('onProtectedRequest')
      ? await this.#askHooks(request, paidRoute)
      : undefined
    if (decided !== undefined) return decided
    // One payment by usage pays for one request.
    const isByUsage = accepts.some(({ accept }) => schemeOf(accept) === 'upto')
    const pass = isByUsage ? undefined : this.#passes?.offer(request, paidRoute)
    const chains = accepts.map(({ chain }) => chain)
    const shown = pass === undefined ? undefined : await this.#passes!.admit(request, pass, chains)
    if (shown?.type === 'admitted') {
      notePayment(request.request, new PaymentStatus(shown.admission.payment()))
      return { type: 'paid', admission: shown.admission }
    }
    const offer = await this.#offer(request, paidRoute, accepts, pass)
    if (this.#paywall.isFor(request.request)) return this.#showPage(offer)
    if (request.payment === null) return this.#refuse(offer, shown?.error ?? noPayment, shown?.message)
    const identifier = this.#identifiers.get(paidRoute.key)
    const respond: ExchangeParts['respond'] = (...call) => this.#respond(...call)
    const parts = { requirements: this.#requirements, claims: this.#claims, passes: this.#passes, identifier, respond }
    const refuse: PaidRequest.PaidRequestParts['refuse'] = (...call) => this.#refuse(...call)
    const paid = await PaidRequest.read({ ...parts, refuse }, offer, request.payment)
    if ('type' in paid) return paid
    const named = paid.purchase === undefined ? undefined : await decidePurchase(this.#exchange, paid)
    const decision = named?.decision ?? (await new PaidExchange(this.#exchange, paid).decide())
    const { status } = (named?.paid ?? paid).event
    // This includes answers of earlier requests that are sent again.
    if (decision.type === 'paid' || status.current.state === 'settled') notePayment(request.request, status)
    return decision
  }

  /** Returns the decision of the hooks for a protected request, if they make one. */
  async #askHooks(request: GateRequest.GateRequest, { key, route }: PaidRoute): Promise<Decision | undefined> {
    const decision = await protectedRequest(this.#exchange.hooks!, hookRequest(request, key), route)
    if (decision === undefined) return undefined
    if ('abort' in decision)
      return this.#respond(request.request, responses.forbidden(decision.reason, decision.message))
    noteGranted(request.request)
    const cors = responses.corsHeaders(request.request, this.#options.cors ?? false)
    return { type: 'free', granted: [...responses.grantedHeaders, ...cors] }
  }

  /** Builds the price of a request. */
  async #offer(
    request: GateRequest.GateRequest,
    paidRoute: PaidRoute,
    accepts: readonly PaidRequest.RouteAccept[],
    pass: PassOffer | undefined,
  ): Promise<PaidRequest.Offer> {
    const { key, route } = paidRoute
    await this.#facilitators.ready(accepts.map(({ chain }) => chain))
    const built = await Promise.all(
      accepts.map(async (one) => ({ ...one, requirement: await this.#requirements.build(one.accept, request, route) })),
    )
    const priced = built.filter((one): one is PaidRequest.PricedAccept => one.requirement !== undefined)
    if (priced.length === 0) {
      throw new FacilitatorError('facilitator_unavailable', "no facilitator serves the route's networks")
    }
    const requirements = this.#requirements.offered(priced.map(({ requirement }) => requirement))
    const unsigned = this.#required(request, key, route, requirements, pass)
    const isAsked = this.#signedOffers !== undefined && request.payment === null
    const required = isAsked ? await this.#signedOffers!.addTo(unsigned) : unsigned
    const isStreamed = accepts.some(({ accept }) => accept.paymentFlow === 'upfront')
    return { request, paidRoute, accepts: priced, isStreamed, required, pass, event: eventRequest(key, request) }
  }

  async #showPage({ request, required, accepts, event }: PaidRequest.Offer): Promise<Decision> {
    this.#events.paymentRequired(event, accepts)
    // The page pays fixed prices. Without one, it shows the price by usage and how to pay it.
    const hasFixed = accepts.some(({ requirement }) => requirement.scheme === 'exact')
    const isShown = ({ scheme }: PaymentRequirements): boolean => !hasFixed || scheme === 'exact'
    const shown = { ...required, accepts: required.accepts.filter(isShown), error: noPayment }
    const offers = accepts.filter(({ requirement }) => isShown(requirement))
    const page = await this.#paywall.page(request.request, shown, offers)
    return this.#respond(request.request, page)
  }

  #refuse(
    { request, required, accepts, event }: PaidRequest.Offer,
    error: string,
    message?: string,
    paid?: EventPayment,
  ): GateResponse {
    if (request.payment === null) this.#events.paymentRequired(event, accepts)
    // A client that has disconnected is not refused.
    else if (error !== noPayment) this.#events.refused(paid ?? event, { code: error, message: message ?? error })
    return this.#respond(request.request, responses.paymentRequired({ ...required, error }, message))
  }

  #recoveryOf({ chains, onSettled }: CompleteOptions): SalesRecovery | undefined {
    const store = this.#claims.sales
    if (store === undefined) return undefined
    const [events, log, onError] = [this.#events, this.#sales, this.#onError]
    return new SalesRecovery({
      store,
      chains: chainList(chains),
      events,
      log,
      onError,
      hasHook: onSettled !== undefined,
    })
  }

  #warn(text: string): void {
    const { onWarning = warn } = this.#options
    onWarning(text)
  }

  #required(
    request: GateRequest.GateRequest,
    key: string,
    { description = '', mimeType = '' }: Route,
    accepts: PaymentRequirements[],
    pass: PassOffer | undefined,
  ): PaymentRequired {
    const { pathname, search, origin } = request.url
    const discovery = this.#discovery.get(key)
    const url = discovery?.resource ?? `${this.#options.origin ?? origin}${this.#routes.publicPath(pathname)}${search}`
    const identifier = this.#identifiers.get(key)
    return {
      x402Version: 2,
      resource: { url, description, mimeType, ...(discovery?.service as object) },
      accepts,
      extensions: {
        ...(discovery?.isDeclared ? discovery.extensions(request) : {}),
        ...PaymentSecret.declaration(),
        ...(identifier === undefined ? {} : PaymentIdentifier.declaration(identifier === 'required')),
        ...(pass === undefined ? {} : PaymentPass.declaration(pass.terms)),
      },
    }
  }

  #respond(request: Request, response: Response): GateResponse {
    const finished = responses.changed(response, (headers) => {
      // Only the files of the page may be cached. These responses set the header themselves.
      if (response.status !== 200 || !headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store')
      responses.addTo(headers, responses.corsHeaders(request, this.#options.cors ?? false))
    })
    return { type: 'response', response: finished }
  }
}

/** A reporter that throws or rejects must neither lose a paid response nor end the process. */
function safely<T>(report: (subject: T) => unknown): (subject: T) => void {
  return (subject) => {
    try {
      void Promise.resolve(report(subject)).catch(() => {})
    } catch {
      // There is nowhere else to report the error.
    }
  }
}

/** The path as written in the URL, without resolving anything. */
function pathOf(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i, '')
}

function errorResponse(error: unknown): Response {
  if (error instanceof FacilitatorError) {
    return responses.unavailable(error.code === 'facilitator_protocol_error' ? 502 : 503)
  }
  if (error instanceof HookError) return responses.unavailable(503)
  const isStoreDown = error instanceof X402Error && error.code === 'store_failed'
  if (error instanceof AlgodError || isStoreDown) return responses.unavailable(503)
  return responses.json(500, { error: `the payment could not be checked; ${responses.sendAgain}` })
}
