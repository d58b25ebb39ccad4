/**
 * Short leases of claims. The gate that holds them renews them, and a number from the store fences off every other
 * gate.
 */

/** A claim held by a request, as the store identifies it. */
export type HeldClaim = {
  readonly transactionId: string
  readonly owner: string
  /** The number that the store issued with the claim. */
  readonly fence: number
}

/**
 * The part of a claim store with which gates renew their leases. A store without it gets leases that last as long as a
 * request can take, and the claims of a killed gate are taken over only after that.
 *
 * A claim is held as long as its owner and fence are the stored ones and it was not ended. The claim stays held after
 * its lease, until another request claims the payment.
 */
export type ClaimRenewals = {
  /** Renews leases for `leaseMs` from now. Returns the owners of claims that are still held; the others are lost. */
  readonly renew: (
    claims: readonly HeldClaim[],
    leaseMs: number,
    nowMs: number,
  ) => Promise<readonly string[]> | readonly string[]
  /**
   * Records the start of a handler that must not run twice. After the lease has ended, the next claim gets `held`
   * without an answer. `hold` replaces the record. `finish` with `open` deletes it, because the handler failed. Returns
   * false if the claim is lost; the handler must then not run.
   */
  readonly begin: (claim: HeldClaim) => Promise<boolean> | boolean
}
