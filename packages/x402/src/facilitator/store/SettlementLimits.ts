import type { Settlement } from './Settlement.js'

/**
 * The limits on the settlements of all replicas together. A store checks and counts them in the transaction that
 * records a settlement, so that they hold exactly; its own clock decides. Undefined means no limit. A rolling period
 * may be counted in parts, each of which counts until the whole part is over, so the limit is never exceeded in any
 * minute or day. If several limits are reached, one on fees is reported, because waiting helps with the others.
 */
export type SettlementLimits = {
  /** Settlements in a rolling minute, with any outcome. Counted only if there is a limit. */
  readonly payToPerMinute?: number | undefined
  readonly payerPerMinute?: number | undefined
  /**
   * Fees in a rolling day, in microAlgos, for one `payTo` and in total. Counted even without a limit, which may be set
   * later. Payments without a fee are not limited by them.
   */
  readonly feesPerPayTo?: bigint | undefined
  readonly feesInAll?: bigint | undefined
  /** Settlements that have not ended. Rejected settlements do not count for their `payTo`. */
  readonly pendingPerPayer?: number | undefined
  readonly pendingPerPayTo?: number | undefined
}

/** The result of `SettlementStore.claim`. */
export type SettlementClaim =
  /** This call recorded the settlement durably. */
  | { readonly type: 'recorded' }
  /** The settlement was already recorded. */
  | { readonly type: 'known'; readonly settlement: Settlement }
  /** The settlement is not recorded, because of a limit. */
  | { readonly type: 'limited'; readonly limit: keyof SettlementLimits }
