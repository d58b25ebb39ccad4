import type { PaywallOptions } from '@latchkey/pages/paywall'
import type { Chain } from '../chain/Chain.js'
import type { Price } from '../Price.js'
import type { ClaimStore } from '../store/Claims.js'
import type { FacilitatorClient } from './FacilitatorClient.js'
import type { GateHooks } from './GateHooks.js'
import type { CustomPaywall } from './Paywall.js'
import type { Accept } from './Requirements.js'

/** A route that has to be paid for. */
export type Route = {
  /** The ways to pay; a buyer chooses one. */
  readonly accepts: Accept | readonly Accept[]
  /**
   * What is sold, for buyers and for the paywall.
   *
   * @default ''
   */
  readonly description?: string | undefined
  /**
   * The type of the response, for buyers.
   *
   * @default ''
   */
  readonly mimeType?: string | undefined
  /**
   * Headers that a `price` or `payTo` function depends on, besides method, host, path and query. A quote, and a payment that
   * was taken for a request that failed, are valid only for requests with the same values.
   *
   * @default ['Authorization', 'Cookie']
   */
  readonly varyBy?: readonly string[] | undefined
  /**
   * What becomes of requests to the path with a method that no key names: `refuse` responds with 405, `free` passes them to
   * the handler unpaid.
   *
   * @default 'refuse'
   */
  readonly otherMethods?: 'refuse' | 'free' | undefined
  /**
   * What becomes of requests that repeat a query parameter, where a function chooses the price or the payee: `refuse` responds
   * with 400, `allow` passes them to the function. Allow them only if the function reads all values of a parameter, as
   * `searchParams.getAll` does.
   *
   * @default 'refuse'
   */
  readonly repeatedParameters?: 'refuse' | 'allow' | undefined
  /**
   * A price above which the payment is settled before the handler runs, so that no account has more work done than it can pay
   * for. A price in another asset counts as above.
   *
   * @default none
   */
  readonly settleFirstAbove?: Price | undefined
  /**
   * One payment opens the route for some minutes, for some requests, or until either ends; `false` for none.
   *
   * @default those of the gate
   */
  readonly passes?: PassOptions | false | undefined
}

/** What one payment opens. At least one of `minutes` and `requests` is set. */
export type PassOptions = {
  /**
   * For how long, from the settlement on.
   *
   * @default 30 days, if `requests` is set
   */
  readonly minutes?: number | undefined
  /**
   * For how many requests, the one that pays included. Those that fail with a status of 400 or more do not count.
   *
   * @default any number
   */
  readonly requests?: number | undefined
  /**
   * Which requests: all of the `route` with the same method, or those to the same `path`. Where a function chooses the
   * price or the payee, a pass opens only requests with the same path, query and headers of `varyBy`.
   *
   * @default 'route'
   */
  readonly scope?: 'route' | 'path' | undefined
}

/** Passes of a gate: their secret, and those of routes without an option of their own. */
export type GatePassOptions = PassOptions & {
  /**
   * What passes are sealed with: at least 32 bytes from a generator, the same in all replicas of this seller and in no other.
   * Of several the first seals, and the passes of the others are accepted, so that it can be replaced.
   *
   * @default a random one for this process, with a warning if a route has passes
   */
  readonly secret?: string | readonly string[] | undefined
}

/** Options of `Gate.open`. */
export type GateOptions = GateHooks & {
  /**
   * By method and path: `GET /weather`, `/reports/:id`, `/files/*`. A path is the whole one that clients send, or relative to
   * where the gate is mounted.
   */
  routes: { readonly [key: string]: Route }
  /**
   * The prefix that is removed from paths before the gate sees them, like `/api`: by a proxy, or by a framework that does
   * not tell. `/` says that there is none.
   *
   * @default what the adapter knows; where it cannot, requests that may be for a paid route are refused with 500
   */
  basePath?: string | undefined
  /** Addresses or clients; the first that serves a network is preferred. */
  facilitators: string | FacilitatorClient | readonly (string | FacilitatorClient)[]
  /** The networks to be paid on. */
  chains: Chain | readonly Chain[]
  /**
   * Which payments opened a request already, shared by all replicas.
   *
   * @default new MemoryClaims()
   */
  claims?: ClaimStore | undefined
  /**
   * The public origin of this server, like `https://example.com`.
   *
   * @default the origin of each request
   */
  origin?: string | undefined
  /**
   * Origins whose pages may pay; `true` for all.
   *
   * @default false
   */
  cors?: boolean | readonly string[] | undefined
  /**
   * The page for people who open a paid route in a browser: it shows the price and takes the payment. Options change how it
   * looks, a function makes another page, `false` turns it off. The built-in page is served on Node; on edge runtimes
   * people get the 402 as JSON, unless a function makes the page.
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
   * By which one payment opens a route several times: their secret, and what routes have that set no `passes` themselves.
   *
   * @default none
   */
  passes?: GatePassOptions | undefined
  /**
   * Called with problems at the start that may go away by themselves, and with claims that other replicas do not see.
   *
   * @default the latter are warnings of the process, others are ignored
   */
  onWarning?: ((text: string) => void) | undefined
  /**
   * Called with errors that are not the buyer's fault.
   *
   * @default a warning of the process
   */
  onError?: ((error: unknown) => void) | undefined
}
