/** The options of the catalogue. */

/** The beginning of the `X-Request-Id` of requests that a facilitator sends to sellers for its catalogue. */
export const catalogueRequestPrefix = 'catalogue-'

/** Options of `discovery` of a `Facilitator`. */
export type DiscoveryOptions = {
  /**
   * Lists sellers at addresses of this machine and of private networks, and without TLS, and therefore sends requests
   * there that buyers cause. For development.
   *
   * @default false
   */
  readonly allowPrivate?: boolean | undefined
  /** @default 10_000 */
  readonly maxListings?: number | undefined
  /**
   * How many listings may be paid to one account.
   *
   * @default 100
   */
  readonly maxListingsPerPayTo?: number | undefined
  /**
   * How many listings one server may have.
   *
   * @default 200
   */
  readonly maxListingsPerOrigin?: number | undefined
  /**
   * How long the description of a listing is kept before a settlement causes it to be read from the seller again.
   *
   * @default 1 hour
   */
  readonly refreshMs?: number | undefined
  /**
   * How long a listing is kept without a settlement.
   *
   * @default 30 days
   */
  readonly keepMs?: number | undefined
}
