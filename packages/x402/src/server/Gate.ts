/**
 * The check in front of a route: from a request to a decision. It knows no web framework; what those do with the decision
 * is in one small file for each.
 */
import { randomUUID } from 'node:crypto'
import { AlgodError } from '@latchkey/algod'
import type { Chain } from '../chain/Chain.js'
import { parseAssetId } from '../chain/Chain.js'
import * as Funds from '../chain/Funds.js'
import { type Claimed, type ClaimStore, MemoryClaims } from '../store/Claims.js'
import * as Headers from '../wire/Headers.js'
import type { PaymentPayload, PaymentRequired, PaymentRequirements, SettleResponse } from '../wire/types.js'
import { type FacilitatorClient, FacilitatorError, httpFacilitator } from './FacilitatorClient.js'
import { Facilitators } from './Facilitators.js'
import * as LedgerPayment from './LedgerPayment.js'
import { type OwnPaywall, Paywall, type PaywallOptions } from './Paywall.js'
import { type Accept, Requirements } from './Requirements.js'
import { RouteTable } from './RouteTable.js'
import * as answers from './responses.js'
import * as Settlement from './settlePayment.js'

export type Route = {
  readonly accepts: Accept | readonly Accept[]
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  /**
   * Headers by which a price or payTo that is a function decides, beside method, path and query: a quote is good for
   * the same ones only. `Authorization` and `Cookie` unless told.
   */
  readonly varyBy?: readonly string[] | undefined
}

export type GateOptions = {
  routes: { readonly [key: string]: Route }
  /** Addresses, or clients of one's own; the first that serves a network is preferred. */
  facilitators: string | FacilitatorClient | readonly (string | FacilitatorClient)[]
  chains: Chain | readonly Chain[]
  /** Shared by all replicas; in memory, for this process alone, unless told. */
  claims?: ClaimStore | undefined
  /** What the outside calls this server, like `https://example.com`; by the request's own word if it is not given. */
  origin?: string | undefined
  /** Lets browsers of these origins pay: `true` for all. */
  cors?: boolean | readonly string[] | undefined
  /**
   * What people get who open a paid route in a browser: a page that tells the price and takes the payment. On unless
   * `false`; with options in one's own colours; a function brings another page.
   */
  paywall?: boolean | PaywallOptions | OwnPaywall | undefined
  /** For replicas that quote changing prices to the same buyers. */
  quoteSecret?: string | undefined
  onWarning?: ((text: string) => void) | undefined
  /** Told of what went wrong and was not the buyer's fault; as a warning of the process unless told. */
  onError?: ((error: unknown) => void) | undefined
}

export type Decision =
  /** Not a paid route. */
  | { readonly type: 'free' }
  /** Answered by the gate; the handler does not run. */
  | { readonly type: 'answer'; readonly response: Response }
  | { readonly type: 'paid'; readonly admission: Admission }

/** A request that was paid for, and what must be done before its answer is sent. */
export type Admission = {
  readonly payer: string
  readonly transactionId: string
  /** Settled before the handler ran: its answer need not be held back. */
  readonly settled: SettleResponse | undefined
  /** To be added to whatever is sent, charged or not. */
  readonly headers: answers.HeaderList
  /** Settles, once the handler has succeeded: its answer may be sent with these headers, or the refusal instead. */
  readonly settle: () => Promise<{ headers: answers.HeaderList } | { refusal: Response }>
  /** The handler failed: nothing is charged, and the payment may be shown again. */
  readonly cancel: () => Promise<void>
}

type Question = {
  readonly request: Request
  readonly chain: Chain
  readonly payload: PaymentPayload
  readonly requirement: PaymentRequirements
  readonly required: PaymentRequired
  readonly payment: LedgerPayment.Payment
}

/** What a handler may take beyond the time that was asked for, and then the facilitators. */
const graceMs = 60_000
const settleMs = 240_000
/** For so long after a payment has expired it is known what became of it. */
const rememberRounds = 1_000n
const defaultVaryBy = ['Authorization', 'Cookie']

export class Gate {
  readonly #routes: RouteTable<{ key: string; route: Route }>
  readonly #options: GateOptions
  readonly #facilitators: Facilitators
  readonly #requirements: Requirements
  readonly #claims: ClaimStore
  readonly #paywall: Paywall
  readonly #onError: (error: unknown) => void

  private constructor(options: GateOptions) {
    this.#options = { ...options, origin: originOf(options.origin) }
    this.#onError = options.onError ?? ((error) => process.emitWarning(error as Error))
    const routes = Object.entries(options.routes).map(([key, route]) => [key, { key, route }] as const)
    this.#routes = new RouteTable(Object.fromEntries(routes))
    const given = Array.isArray(options.facilitators) ? options.facilitators : [options.facilitators]
    const clients = given.map((one: string | FacilitatorClient) =>
      typeof one === 'string' ? httpFacilitator({ url: one }) : one,
    )
    this.#facilitators = new Facilitators(clients, this.#onError)
    const chains = Array.isArray(options.chains) ? options.chains : [options.chains as Chain]
    this.#requirements = new Requirements(chains, this.#facilitators, options.quoteSecret)
    this.#claims = options.claims ?? new MemoryClaims()
    this.#paywall = new Paywall(options.paywall, options.onWarning)
  }

  /** Rejects what can never work: a route, a price, a payee. What may be mended by waiting is only warned of. */
  static async open(options: GateOptions): Promise<Gate> {
    const gate = new Gate(options)
    await gate.#facilitators.refresh()
    for (const [key, route] of Object.entries(options.routes)) {
      for (const accept of acceptsOf(route)) await gate.#check(key, accept)
    }
    return gate
  }

  /** Whether it answers the questions that browsers ask first. */
  get hasCors(): boolean {
    return (this.#options.cors ?? false) !== false
  }

  async #check(key: string, accept: Accept): Promise<void> {
    const { onWarning = () => {} } = this.#options
    try {
      this.#requirements.check(accept)
      const chain = this.#requirements.chainOf(accept)
      if (this.#facilitators.kindFor(chain) === undefined) {
        onWarning(`no facilitator serves ${chain.caip2} just now; ${key} answers 503 until one does`)
      }
      if (typeof accept.price === 'function') return
      const { asset } = await this.#requirements.amount(accept.price, accept)
      if (typeof accept.payTo === 'function') return
      const fault = await Funds.receiverFault(chain, accept.payTo, parseAssetId(asset)!)
      if (fault !== undefined) throw new GateError(fault)
    } catch (error) {
      if (!(error instanceof AlgodError)) throw new GateError(`${key}: ${(error as Error).message}`, { cause: error })
      onWarning(`${key}: whether it can be paid for is not known: ${error.message}`)
    }
  }

  /**
   * `paths` are what the request asked for by the letter, with everything that a framework may have made of it, the one
   * that its router goes by first.
   */
  async decide(request: Request, paths: readonly string[] = [pathOf(request.url)]): Promise<Decision> {
    const match = paths.map((path) => this.#routes.match(request.method, path)).find((found) => found !== undefined)
    if (match === undefined) return { type: 'free' }
    if (match.type === 'ambiguous') {
      return this.#answer(request, answers.json(400, { error: 'the path can be read in more than one way' }))
    }
    if (request.method === 'OPTIONS') return this.#answer(request, answers.preflight())
    try {
      return await this.#decidePaid(request, match.value.key, match.value.route)
    } catch (error) {
      // Whatever goes wrong in here, nothing is served.
      this.#onError(error)
      return this.#answer(request, troubled(error))
    }
  }

  async #decidePaid(request: Request, key: string, route: Route): Promise<Decision> {
    const accepts = acceptsOf(route).map((accept) => ({ accept, chain: this.#requirements.chainOf(accept) }))
    const aside = await this.#paywall.aside(request, accepts)
    if (aside !== undefined) return this.#answer(request, aside)
    await this.#facilitators.ready(accepts.map(({ chain }) => chain))
    const binding = bindingOf(request, key, route)
    const built = await Promise.all(accepts.map(({ accept }) => this.#requirements.build(accept, request, binding)))
    const asked = built.filter((one) => one !== undefined)
    if (asked.length === 0) throw new FacilitatorError('no facilitator serves the networks of the route')
    const required = this.#required(request, route, asked)
    const refuse = (error: string, message?: string): Decision =>
      this.#answer(request, answers.paymentRequired({ ...required, error }, message))
    if (this.#paywall.isFor(request)) {
      const offers = accepts.flatMap((one, index) => {
        const requirement = built[index]
        return requirement === undefined ? [] : [{ ...one, requirement }]
      })
      const page = await this.#paywall.page(request, { ...required, error: 'Payment required' }, offers)
      return this.#answer(request, page)
    }
    const header = request.headers.get(Headers.paymentSignature)
    if (header === null) return refuse('Payment required')
    const payload = readPayment(header)
    if (typeof payload === 'string') return refuse('invalid_payload', payload)
    if (!isForThis(payload, required)) return refuse('invalid_payload', 'the payment was made for another resource')
    const requirement = this.#requirements.find(payload, asked, binding)
    if (requirement === undefined) return refuse('No matching payment requirements')
    const chain = this.#requirements.chainOf(requirement)
    const payment = LedgerPayment.read(payload, requirement, chain)
    if (typeof payment === 'string') return refuse('invalid_payload', payment)
    return this.#admit({ request, chain, payload, requirement, required, payment }, refuse)
  }

  async #admit(question: Question, refuse: (error: string, message?: string) => Decision): Promise<Decision> {
    const { request, chain, payload, requirement, payment } = question
    const isUpfront = requirement.extra['paymentFlow'] === 'upfront'
    const seen = await LedgerPayment.look(chain, payment)
    if (seen.state === 'expired') return refuse('invalid_exact_avm_payload_validity', 'the payment has expired')
    if (seen.state === 'unsent' && !isUpfront) {
      const { isValid, invalidReason, invalidMessage } = await this.#facilitators.verify(payload, requirement)
      if (!isValid)
        return refuse(Settlement.bounded(invalidReason, 100) ?? 'invalid', Settlement.bounded(invalidMessage, 500))
    }
    // Whoever asked may be gone by now, and nobody is charged for an answer to nobody.
    if (request.signal.aborted) return refuse('Payment required')
    const owner = randomUUID()
    const leaseMs = requirement.maxTimeoutSeconds * 1000 + graceMs + settleMs
    const forgetRound = payment.lastValid + rememberRounds
    const lease = { owner, nowMs: Date.now(), leaseMs, network: chain.caip2, round: seen.round, forgetRound }
    const claimed = await this.#claims.claim(payment.transactionId, lease)
    if (claimed === 'taken') return refuse('payment_already_used', 'this payment opened a request already')
    if (claimed === 'new' && seen.state !== 'unsent') {
      // Nobody here had it settled: it was made for another server, or shown to one that has forgotten it.
      await this.#claims.finish(payment.transactionId, owner, 'forgotten')
      return refuse('payment_already_used', 'this payment was settled before it was shown here')
    }
    const admission = this.#admission(question, owner, claimed, seen.state === 'settled')
    if (!isUpfront) return { type: 'paid', admission }
    const result = await admission.settle()
    if ('refusal' in result) return { type: 'answer', response: result.refusal }
    return { type: 'paid', admission: { ...admission, settled: receiptIn(result.headers), settle: async () => result } }
  }

  #admission(question: Question, owner: string, claimed: Claimed, isSettled: boolean): Admission {
    const { request, requirement, required, payment } = question
    const { transactionId, payer } = payment
    const endMs = performance.now() + requirement.maxTimeoutSeconds * 1000 + graceMs
    const cors = answers.corsHeaders(request, this.#options.cors ?? false)
    const refusal = (response: Response) => ({ refusal: this.#finish(request, response) })
    // One that was sent before may be in the ledger, now or later, and must be known again then.
    const cancel = async (): Promise<void> =>
      this.#claims.finish(transactionId, owner, claimed === 'again' ? 'open' : 'forgotten')
    const settle: Admission['settle'] = async () => {
      if (performance.now() > endMs) {
        // Somebody else may have the claim soon, and the payment can expire at any moment.
        await cancel()
        return refusal(answers.json(504, { error: 'the answer took longer than the payment is good for; not charged' }))
      }
      const outcome = isSettled ? Settlement.settled(question) : await this.#settle(question)
      // Before anything is sent: a payment that was taken is never taken for two answers.
      const end = { settled: 'served', pending: 'open', failed: 'forgotten' } as const
      await this.#claims.finish(transactionId, owner, end[outcome.state])
      const { receipt } = outcome
      if (outcome.state === 'failed') return refusal(answers.notSettled(receipt, required))
      if (outcome.state === 'pending') return refusal(answers.pending(receipt, outcome.status))
      return { headers: [[Headers.paymentResponse, Headers.encode(receipt)], ['Cache-Control', 'private'], ...cors] }
    }
    return { payer, transactionId, settled: undefined, headers: cors, settle, cancel }
  }

  #settle(question: Question): Promise<Settlement.Outcome> {
    return Settlement.settle({ ...question, facilitators: this.#facilitators, onError: this.#onError })
  }

  #required(
    request: Request,
    { description = '', mimeType = '' }: Route,
    accepts: PaymentRequirements[],
  ): PaymentRequired {
    const { pathname, search, origin } = new URL(request.url)
    const url = `${this.#options.origin ?? origin}${pathname}${search}`
    return { x402Version: 2, resource: { url, description, mimeType }, accepts }
  }

  #answer(request: Request, response: Response): Decision {
    return { type: 'answer', response: this.#finish(request, response) }
  }

  #finish(request: Request, response: Response): Response {
    // Only the page's own files are to be kept, which say so.
    if (response.status !== 200 || !response.headers.has('Cache-Control'))
      response.headers.set('Cache-Control', 'no-store')
    for (const [name, value] of answers.corsHeaders(request, this.#options.cors ?? false)) {
      response.headers.set(name, answers.merged(name, response.headers.get(name) ?? undefined, value))
    }
    return response
  }
}

function acceptsOf({ accepts }: Route): readonly Accept[] {
  const list = (Array.isArray(accepts) ? accepts : [accepts]) as readonly Accept[]
  if (list.length === 0 || list[0] === undefined) throw new GateError('a route accepts at least one payment')
  return list
}

function originOf(origin: string | undefined): string | undefined {
  if (origin === undefined) return undefined
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || !/^\/?$/.test(url.pathname + url.search + url.hash)) {
    throw new GateError(`origin is like "https://example.com", not ${JSON.stringify(origin)}`)
  }
  return url.origin
}

/** As it stands in the address: nothing is resolved. */
function pathOf(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i, '')
}

/** Everything that a price may depend on. */
function bindingOf(request: Request, key: string, { varyBy = defaultVaryBy }: Route): string {
  const { pathname, search } = new URL(request.url)
  const method = request.method === 'HEAD' ? 'GET' : request.method
  return JSON.stringify([key, method, pathname, search, varyBy.map((name) => request.headers.get(name))])
}

function readPayment(header: string): PaymentPayload | string {
  try {
    return Headers.decodePayment(header)
  } catch (error) {
    if (error instanceof Headers.HeaderError) return error.message
    throw error
  }
}

/** A buyer that says what it pays for is held to it; hosts may be called by several names. */
function isForThis({ resource }: PaymentPayload, required: PaymentRequired): boolean {
  if (resource?.url === undefined) return true
  if (!URL.canParse(resource.url)) return false
  const [paid, asked] = [new URL(resource.url), new URL(required.resource.url)]
  return paid.pathname === asked.pathname && paid.search === asked.search
}

function receiptIn(headers: answers.HeaderList): SettleResponse {
  const [, value] = headers.find(([name]) => name === Headers.paymentResponse)!
  return JSON.parse(Buffer.from(value, 'base64').toString('utf8')) as SettleResponse
}

function troubled(error: unknown): Response {
  if (error instanceof FacilitatorError) return answers.unavailable(error.isNonsense ? 502 : 503)
  if (error instanceof AlgodError) return answers.unavailable(503)
  return answers.json(500, { error: 'the payment could not be looked at; nothing was charged' })
}

/** Something about the routes that no waiting mends. */
export class GateError extends Error {
  override name = 'GateError'
}
