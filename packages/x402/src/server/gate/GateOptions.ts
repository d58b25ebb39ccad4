import { LatchkeyError } from '@latchkey/algorand'
import type { PaywallOptions } from '@latchkey/pages/paywall'
import { type Discovery, type Money, PaymentHeaders, type PaymentRequired, type Price } from '@latchkey/x402-wire'
import { type Chain, isUnset } from '../../chain/Chain.js'
import { OptionsError, PartyError } from '../../errors.js'
import type { ReceiptSigner } from '../../signer/ReceiptSigner.js'
import { type FacilitatorClient, httpFacilitator } from '../exchange/FacilitatorClient.js'
import type { Payment } from '../exchange/Payment.js'
import type { CustomPaywall } from '../paywall/Paywall.js'
import type { DiscoveryOptions } from '../routes/openApi.js'
import type { Accept, UpToPrice } from '../routes/Requirements.js'
import { type DescribedRoute, RouteDiscovery } from '../routes/RouteDiscovery.js'
import type { ClaimStore } from '../store/Claims.js'
import type { DecidingHooks } from './DecidingHooks.js'

/** A route that requires payment. */
export type Route = DescribedRoute & {
  /** The ways to pay. A buyer chooses one. */
  readonly accepts: Accept | readonly Accept[]
  /**
   * A description of the resource, for buyers and for the paywall.
   *
   * @default ''
   */
  readonly description?: string | undefined
  /**
   * The media type of the response, for buyers.
   *
   * @default ''
   */
  readonly mimeType?: string | undefined
  /**
   * Headers that a `price` or `payTo` function depends on, in addition to method, host, path and query. A quote, and a
   * payment taken for a request that failed, are valid only for requests with the same values.
   *
   * @default ['Authorization', 'Cookie']
   */
  readonly varyBy?: readonly string[] | undefined
  /**
   * How to treat requests to the path with a method that no key names: `refuse` responds with 405, `free` passes them
   * to the handler unpaid.
   *
   * @default 'refuse'
   */
  readonly otherMethods?: 'refuse' | 'free' | undefined
  /**
   * How to treat requests that repeat a query parameter if a function chooses the price or the payee: `refuse` responds
   * with 400, `allow` passes them to the function. Use `allow` only if the function reads all values of a parameter, as
   * `searchParams.getAll` does.
   *
   * @default 'refuse'
   */
  readonly repeatedParameters?: 'refuse' | 'allow' | undefined
  /**
   * A price above which the payment is settled before the handler runs, so that no account can have more work done than
   * it can pay for. A price in another asset counts as above.
   *
   * @default none
   */
  readonly settleFirstAbove?: Price | undefined
  /**
   * The lowest and the highest price, for catalogues, if a function chooses the price.
   *
   * @default none
   */
  readonly priceRange?: { readonly min: Money; readonly max: Money } | undefined
  /**
   * Whether buyers may or must name their purchases. Each further payment under a name is then the same purchase: it
   * gets the first answer, and is not charged. `false` ignores names.
   *
   * @default the `paymentIdentifier` of the gate
   */
  readonly paymentIdentifier?: PaymentIdentifierOption | false | undefined
  /**
   * The terms on which one payment opens the route for some minutes, for some requests, or until either ends; `false`
   * for none.
   *
   * @default the passes of the gate
   */
  readonly passes?: PassOptions | false | undefined
}

/** A way to pay that is paid to the gate's `payTo`, unless it names a payee. */
export type RouteAccept = Omit<Accept, 'payTo'> & { readonly payTo?: Accept['payTo'] | undefined }

/** A route as `Gate.open` takes it: a price, or a {@link Route} whose payee may be that of the gate. */
export type PricedRoute =
  | Money
  | UpToPrice
  | (Omit<Route, 'accepts'> & { readonly accepts: RouteAccept | readonly RouteAccept[] })

/** Whether buyers may or must name their purchases, by the extension `payment-identifier`. */
export type PaymentIdentifierOption = 'optional' | 'required'

/** The requests that one payment opens. Set at least one of `minutes` and `requests`. */
export type PassOptions = {
  /**
   * How long the pass is valid after the settlement.
   *
   * @default 30 days, if `requests` is set
   */
  readonly minutes?: number | undefined
  /**
   * How many requests the payment opens, including the paid one. Requests that fail with a status of 400 or more do not
   * count.
   *
   * @default any number
   */
  readonly requests?: number | undefined
  /**
   * The requests that the pass opens: all requests of the `route` with the same method, or those to the same `path`. If
   * a function chooses the price or the payee, a pass opens only requests with the same path, query and headers of
   * `varyBy`.
   *
   * @default 'route'
   */
  readonly scope?: 'route' | 'path' | undefined
}

/** The passes of a gate: their secret, and the default for routes without `passes`. */
export type GatePassOptions = PassOptions & {
  /**
   * The secret that seals passes: at least 32 bytes from a generator, the same in all replicas of this seller and in no
   * other. With several secrets, the first seals, and passes of the others are still accepted, so that the secret can
   * be replaced.
   *
   * @default a random one for this process, with a warning if a route has passes
   */
  readonly secret?: string | readonly string[] | undefined
}

type AllHooks = GateHooks & DecidingHooks<Route>

/** Options of `Gate.open`. */
export type GateOptions = AllHooks & {
  /**
   * Routes by method and path: `GET /weather`, `/reports/:id`, `/files/*`. A path is the whole path that clients send,
   * or relative to where the gate is mounted. A route is a price such as `$0.01`, or has further options.
   */
  routes: { readonly [key: string]: PricedRoute }
  /**
   * The address that is paid by routes that name none.
   *
   * @default each route names its own
   */
  payTo?: Accept['payTo'] | undefined
  /**
   * The prefix that is removed from paths before the gate sees them, such as `/api`: by a proxy, or by a framework that
   * does not report the prefix. `/` means that there is none.
   *
   * @default the prefix that the adapter detects; if it cannot, requests that may be for a paid route are refused with
   * 500
   */
  basePath?: string | undefined
  /** Addresses or clients of facilitators. The first one that serves a network is preferred. */
  facilitators: string | FacilitatorClient | readonly (string | FacilitatorClient)[]
  /**
   * The network to accept payments on: `testnet`, `mainnet`, `betanet`, `local` for a node at its usual address, or a
   * CAIP-2 id. For other nodes, or several networks, pass `chains`.
   *
   * @default 'testnet'
   */
  network?: string | undefined
  /**
   * The networks to accept payments on, opened by `Chain.open`.
   *
   * @default the one that `network` names
   */
  chains?: Chain | readonly Chain[] | undefined
  /**
   * Stores which payments have already opened a request, shared by all replicas.
   *
   * @default new MemoryClaims()
   */
  claims?: ClaimStore | undefined
  /**
   * The public origin of this server, such as `https://example.com`.
   *
   * @default the origin of each request
   */
  origin?: string | undefined
  /**
   * Name, tags and picture of the service, for catalogues. Routes may set their own.
   *
   * @default none
   */
  service?: Discovery.Service | undefined
  /**
   * Serves `/openapi.json` and `/.well-known/x402`, with which crawlers and agents find the routes and their prices. The
   * documents are free, and generated from `routes`.
   *
   * @default not served
   */
  discovery?: DiscoveryOptions | undefined
  /**
   * The ids of networks in offers: `both` offers each price under the CAIP-2 id of the standard and under the id with
   * the whole genesis hash, which older buyers compare; `canonical` offers the standard's id alone. Payments with
   * either id are accepted.
   *
   * @default 'both'
   */
  networkIds?: 'both' | 'canonical' | undefined
  /**
   * The origins whose pages may pay; `true` for all.
   *
   * @default false
   */
  cors?: boolean | readonly string[] | undefined
  /**
   * The page for people who open a paid route in a browser. The page shows the price and takes the payment. Options
   * change its look, a function creates another page, and `false` turns it off. The built-in page is served on Node. On
   * edge runtimes people get the 402 as JSON, unless a function creates the page.
   *
   * @default true
   */
  paywall?: boolean | PaywallOptions | CustomPaywall | undefined
  /**
   * Signs a receipt for each paid response, which its buyer keeps: the extension `offer-receipt`, in PAYMENT-RESPONSE.
   * Needs `origin`, because a receipt names the URL of the resource.
   *
   * @default no receipts
   */
  receipts?: ReceiptSigner | undefined
  /**
   * Also signs each offer of a 402 with the signer of `receipts`, so that buyers can prove what was asked for. A signed
   * offer takes about 700 bytes of the header.
   *
   * @default false
   */
  signOffers?: boolean | undefined
  /**
   * A secret of at least 16 characters that all replicas share, so that each accepts the quotes of the others.
   *
   * @default a random one for this process
   */
  quoteSecret?: string | undefined
  /**
   * Passes, with which one payment opens a route several times: their secret, and the default for routes that do not
   * set `passes`.
   *
   * @default none
   */
  passes?: GatePassOptions | undefined
  /**
   * How many streams that are charged by usage may be left unpaid within an hour, until such responses are charged before
   * they are sent: from 0, which never streams them, to 1,000.
   *
   * @default 20
   */
  maxUnpaidStreams?: number | undefined
  /**
   * Whether buyers may or must name their purchases, for routes that do not set `paymentIdentifier`.
   *
   * @default names are ignored
   */
  paymentIdentifier?: PaymentIdentifierOption | undefined
  /**
   * Called with startup problems that may go away without a change, and with claims that other replicas do not see.
   *
   * @default process warnings for such claims; others are ignored
   */
  onWarning?: ((text: string) => void) | undefined
  /**
   * Called with errors that are not the buyer's fault.
   *
   * @default a process warning
   */
  onError?: ((error: unknown) => void) | undefined
}

/** The common members of all events. */
export type GateEvent = {
  /**
   * The transaction id if a payment was read, otherwise a random id. An event may be delivered twice, so a hook must
   * act once for an id.
   */
  readonly id: string
  /** The time of the event, in milliseconds since 1970. */
  readonly timeMs: number
  /** The key of the route, such as `GET /weather`. */
  readonly route: string
  readonly method: string
  /** The path as the client sent it, without its query. The client chooses this text. */
  readonly path: string
  /**
   * The id of the request, which its facilitator logs too: the request's `X-Request-Id`, or a new id. Undefined in an
   * event that was not delivered before a restart.
   */
  readonly requestId?: string | undefined
}

/** A request without a payment got the price. */
export type PaymentRequiredEvent = GateEvent & {
  /** The ways to pay, such as `0.01 USDC`. */
  readonly prices: readonly string[]
}

/** A payment was verified or settled. */
export type PaymentEvent = GateEvent & { readonly payment: Payment }

/** A payment was refused and opened nothing. */
export type RefusedEvent = GateEvent & {
  /** The `error` of the response, such as `invalid_payload`. */
  readonly code: string
  /** The reason in words. Parts may come from a buyer or a facilitator, so escape the text before showing it. */
  readonly message: string
  /** Undefined if the payment could not be read. */
  readonly payment: Payment | undefined
}

/**
 * Functions that a gate calls with events. Hooks run after or in parallel with the response, and cannot delay, change
 * or fail it; those of {@link DecidingHooks} can. A hook that throws, rejects or takes longer than 30 seconds is called again, with increasing waits, up to
 * 8 times. The error then goes to `onError`. Events of one payment are delivered in order.
 */
export type GateHooks = {
  /** Called when a request without a payment got the price. */
  onPaymentRequired?: ((event: PaymentRequiredEvent) => unknown) | undefined
  /**
   * Called when a payment is valid, before it is settled and before the handler runs. Not called if the route settles
   * first.
   */
  onVerified?: ((event: PaymentEvent) => unknown) | undefined
  /**
   * Called at least once when a payment is on the ledger, with the transaction id as `event.id`. A store of claims on
   * disk keeps events that were not delivered when the process ended, and the next gate that opens with the store
   * delivers them.
   */
  onSettled?: ((event: PaymentEvent) => unknown) | undefined
  /** Called when a payment was refused. */
  onRefused?: ((event: RefusedEvent) => unknown) | undefined
}

export type HookName = keyof GateHooks

export function facilitatorClients(facilitators: GateOptions['facilitators']): FacilitatorClient[] {
  const list = (Array.isArray(facilitators) ? facilitators : [facilitators]) as (string | FacilitatorClient)[]
  const hint = 'Pass the URL of a facilitator; check that its environment variable is set.'
  if (list.some(isUnset)) throw new OptionsError('facilitators is not set', hint)
  const clients = list.map((one) => (typeof one === 'string' ? httpFacilitator({ url: one }) : one))
  if (clients.every(({ supported }) => typeof supported === 'function')) return clients
  throw new OptionsError(
    'facilitators contains a value that is neither a URL nor a client',
    'Pass a URL, or `localFacilitator`.',
  )
}

export function acceptsOf(route: Route | undefined, key: string): readonly Accept[] {
  const accepts = route?.accepts
  const list = (Array.isArray(accepts) ? accepts : [accepts]) as readonly Accept[]
  if (list.length > 0 && !list.some(isUnset)) return list
  const message = `${key}: accepts is ${list.length === 0 ? 'empty' : 'not set'}`
  throw new GateError('invalid_gate_option', message, { hint: 'Pass at least one `{ network, price, payTo }`.' })
}

/**
 * Whether buyers may or must name purchases of a route.
 *
 * @throws GateError for another value, and for a store that keeps no purchases
 */
export function identifierOf(
  key: string,
  route: Route | undefined,
  { paymentIdentifier: ofGate }: Pick<GateOptions, 'paymentIdentifier'>,
  claims: ClaimStore,
): PaymentIdentifierOption | undefined {
  const given: unknown = route?.paymentIdentifier ?? ofGate ?? false
  if (given === false) return undefined
  if (given !== 'optional' && given !== 'required') {
    const message = `${key}: paymentIdentifier is ${JSON.stringify(given)}`
    throw new GateError('invalid_gate_option', message, { hint: 'Use "optional", "required" or false.' })
  }
  if (claims.hasPurchases === true) return given
  throw new GateError('invalid_gate_option', `${key}: the claims store keeps no purchases`, {
    hint: 'Use a store with `hasPurchases`, or leave out `paymentIdentifier`.',
  })
}

export function sentence(hint: string): string {
  return `${hint[0]!.toUpperCase()}${hint.slice(1)}.`
}

/** @throws GateError for another value than an integer from 0 to 1,000 */
export function unpaidLimitOf({ maxUnpaidStreams: limit = 20 }: Pick<GateOptions, 'maxUnpaidStreams'>): number {
  if (Number.isInteger(limit) && limit >= 0 && limit <= 1_000) return limit
  const message = `maxUnpaidStreams cannot be ${JSON.stringify(limit)}`
  throw new GateError('invalid_gate_option', message, { hint: 'Pass an integer from 0 to 1,000.' })
}

export function originOf(origin: string | undefined): string | undefined {
  if (origin === undefined) return undefined
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || !/^\/?$/.test(url.pathname + url.search + url.hash)) {
    const message = `origin cannot be ${JSON.stringify(origin)}`
    throw new GateError('invalid_gate_option', message, { hint: 'Write it like "https://example.com".' })
  }
  return url.origin
}

export function routeError(key: string, error: Error): GateError {
  const code = error instanceof GateError ? error.code : 'invalid_gate_option'
  const hint = error instanceof LatchkeyError ? error.hint : undefined
  return new GateError(code, `${key}: ${error.message}`, { hint, cause: error })
}

/**
 * By default, nginx reads the head of a response into one page of memory, 4,096 bytes on most machines, and responds
 * with 502 if the head is larger. Other headers of a 402 take up to 600 bytes.
 */
const maxHeaderBytes = 3_500

/** The descriptions of the routes, by their keys. */
export function discoveryOf({
  routes,
  service,
}: {
  readonly routes: { readonly [key: string]: Route }
  readonly service?: Discovery.Service | undefined
}): ReadonlyMap<string, RouteDiscovery> {
  const read = ([key, route]: [string, Route]): [string, RouteDiscovery] => {
    try {
      return [key, new RouteDiscovery(key, route ?? {}, service)]
    } catch (error) {
      throw routeError(key, error as Error)
    }
  }
  return new Map(Object.entries(routes).map(read))
}

/** Node and undici refuse heads of more than 16 kB, and proxies rarely accept more than 8 kB. */
const maxRequiredBytes = 8 * 1024

/** Refuses a 402 that buyers could not read. */
export function checkedHeader(required: PaymentRequired): PaymentRequired {
  const bytes = PaymentHeaders.encode(required).length
  if (bytes <= maxRequiredBytes) return required
  throw new GateError(
    'invalid_gate_option',
    `the header ${PaymentHeaders.paymentRequired} has ${bytes} bytes, more than ${maxRequiredBytes}`,
    { hint: 'Accept fewer payments, or shorten `description`, `input`, `output` and `extra`.' },
  )
}

/** The startup warning about a route whose 402 may not pass a proxy; undefined if it does. */
export function headerWarning(key: string, required: PaymentRequired): string | undefined {
  const bytes = PaymentHeaders.encode(required).length
  if (bytes <= maxHeaderBytes) return undefined
  const offers = `${required.accepts.length} offers`
  return (
    `${key}: the header ${PaymentHeaders.paymentRequired} has ${bytes} bytes for ${offers}; proxies with a 4 kB header limit respond with ` +
    '502. Accept fewer payments, shorten `description` and `extra`, or set `proxy_buffer_size 16k` in nginx'
  )
}

/** The startup warning of a gate whose claims other replicas do not see. */
export const memoryClaimsWarning =
  'this process is one of several and keeps its claims in memory: one payment could be used once in each process; ' +
  'pass `claims: new SqliteClaims(path)`, or another store that all processes share'

/** Whether a process manager or `node:cluster` runs several instances of this process. */
export function isReplica(): boolean {
  const node = globalThis.process
  // PM2 and others number the instances.
  if (node?.env?.['NODE_APP_INSTANCE'] !== undefined) return true
  const cluster = node?.getBuiltinModule?.('node:cluster') as { isWorker?: boolean } | undefined
  return cluster?.isWorker === true
}

/** A route or an option that can never work. */
export class GateError extends PartyError<'invalid_gate_option' | 'receiver_not_opted_in'> {
  override name = 'GateError'
}
