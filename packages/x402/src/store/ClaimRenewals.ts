/** Short leases of claims: the gate that holds them renews them, and a number of the store fences off every other. */

/** A claim that a request holds, as the store identifies it. */
export type HeldClaim = {
  readonly transactionId: string
  readonly owner: string
  /** The number that the store handed out with the claim. */
  readonly fence: number
}

/**
 * The part of a store of claims by which gates renew their leases. A store without it gets leases that last as long as a
 * request can take, and what a gate that was killed left is taken over only after that.
 *
 * A claim is held as long as its owner and its fence are the stored ones and it was not ended: also after its lease, until
 * another request claims the payment.
 */
export type ClaimRenewals = {
  /** Renews leases, from now on for `leaseMs`. Returns the owners of those that are still held; the others are lost. */
  readonly renew: (
    claims: readonly HeldClaim[],
    leaseMs: number,
    nowMs: number,
  ) => Promise<readonly string[]> | readonly string[]
  /**
   * Records that the handler of a request begins that must not run twice. Once its lease has ended, the next claim gets `held`
   * without an answer. `hold` replaces the record, and `finish` with `open` deletes it: the handler failed. Returns false if the
   * claim is lost; then the handler must not run.
   */
  readonly begin: (claim: HeldClaim) => Promise<boolean> | boolean
}
