import type { Settlement } from './Settlement.js'

/**
 * What holds for the settlements of all replicas together. A store checks and counts them in the same transaction in which
 * it records a settlement, so that they hold to the unit; its own clock decides. Undefined is no limit. A rolling time may be
 * counted in parts, of which each counts until all of it is over: never more than the limit in any minute or day. Where
 * several limits are met, one on fees is named: waiting helps against the others.
 */
export type SettlementLimits = {
  /** Settlements in a rolling minute, however they end. Counted where there is a limit. */
  readonly payToPerMinute?: number | undefined
  readonly payerPerMinute?: number | undefined
  /**
   * Fees in a rolling day, in microAlgos: of one `payTo`, and of all. Counted also where there is no limit, which may be set
   * later. Payments without a fee are not limited by them.
   */
  readonly feesPerPayTo?: bigint | undefined
  readonly feesInAll?: bigint | undefined
  /** Settlements that have not ended. Those that nodes reject do not count for their `payTo`. */
  readonly pendingPerPayer?: number | undefined
  readonly pendingPerPayTo?: number | undefined
}

/** The result of `SettlementStore.claim`. */
export type SettlementClaim =
  /** It is recorded by this call, durably. */
  | { readonly type: 'recorded' }
  /** It was recorded before. */
  | { readonly type: 'known'; readonly settlement: Settlement }
  /** It is not recorded, because of a limit. */
  | { readonly type: 'limited'; readonly limit: keyof SettlementLimits }
