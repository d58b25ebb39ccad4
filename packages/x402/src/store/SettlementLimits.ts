import type { Settlement } from './Settlements.js'

/**
 * What holds for the settlements of all replicas together. A store checks and counts them in the same transaction in which
 * it records a settlement, so that they hold to the unit. Undefined is no limit.
 */
export type SettlementLimits = {
  /** Settlements per minute. */
  readonly payToPerMinute?: number | undefined
  readonly payerPerMinute?: number | undefined
  /** Fees in a rolling day, in microAlgos: of one `payTo`, and of all. */
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
