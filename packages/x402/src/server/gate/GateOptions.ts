import type { PaywallOptions } from '@latchkey/pages/paywall'
import type { Discovery, Money, Price } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import type { FacilitatorClient } from '../exchange/FacilitatorClient.js'
import type { Payment } from '../exchange/Payment.js'
import type { CustomPaywall } from '../paywall/Paywall.js'
import type { DiscoveryOptions } from '../routes/openApi.js'
import type { Accept } from '../routes/Requirements.js'
import type { DescribedRoute } from '../routes/RouteDiscovery.js'
import type { ClaimStore } from '../store/Claims.js'

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
   * The terms on which one payment opens the route for some minutes, for some requests, or until either ends; `false`
   * for none.
   *
   * @default the passes of the gate
   */
  readonly passes?: PassOptions | false | undefined
}

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

/** Options of `Gate.open`. */
export type GateOptions = GateHooks & {
  /**
   * Routes by method and path: `GET /weather`, `/reports/:id`, `/files/*`. A path is the whole path that clients send,
   * or relative to where the gate is mounted.
   */
  routes: { readonly [key: string]: Route }
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
  /** The networks to accept payments on. */
  chains: Chain | readonly Chain[]
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
 * or fail it. A hook that throws, rejects or takes longer than 30 seconds is called again, with increasing waits, up to
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
