import type { Settlement } from './Settlement.js'
import type { SettlementLimits } from './SettlementLimits.js'

/**
 * A verified payment, shared with other replicas. The payment belongs to its claimant, and counts against its payer's
 * balance.
 */
export type SharedHold = {
  readonly transactionId: string
  readonly network: string
  readonly payer: string
  readonly payTo: string
  readonly claimant: string
  /** The cost for the payer, in base units by asset id. */
  readonly costs: readonly { readonly asset: string; readonly amount: bigint }[]
  /** The fee that the facilitator pays, and the account that pays it. */
  readonly feeMicroAlgos: bigint
  readonly feePayer: string | undefined
  readonly holdMs: number
}

/** The result of {@link SharedHolds.hold}. */
export type HoldResult =
  /**
   * The payment is held. `ahead` contains the amounts of other payments of the payer and the fee account that were
   * there first, from all replicas including this one, without this payment. `wasHeld` is true if the same claimant
   * already held it, at any replica. The payment is then held for longer, keeps its place, and is not limited, because
   * the seller may already have done the work.
   */
  | { readonly type: 'held'; readonly ahead: HeldAhead; readonly wasHeld: boolean }
  | { readonly type: 'known'; readonly settlement: Settlement }
  /** The payment belongs to another claimant. */
  | { readonly type: 'claimed' }
  | { readonly type: 'limited'; readonly limit: keyof SettlementLimits }

/** The amounts ahead of a held payment. */
export type HeldAhead = {
  /** Amounts by asset id: verified ones, and settling ones that may already be deducted from the balance. */
  readonly costs: readonly { readonly asset: string; readonly held: bigint; readonly settling: bigint }[]
  /**
   * How long ago a payment of the payer was settled, if that was in the last minute. A simulation that started before
   * has seen a balance that is too high.
   */
  readonly settledAgoMs?: number | undefined
  readonly fees: { readonly all: bigint; readonly settling: bigint; readonly own: bigint; readonly payers: number }
}

/**
 * Payments that are verified and not settled, over all replicas. May be lost with the database's memory, but not with a
 * replica.
 */
export type SharedHolds = {
  /**
   * Looks up the settlement, checks the limits of a payment that was not held, without counting it, and holds the
   * payment, in one round trip. Replicas that concurrently hold payments of one payer each see the earlier ones.
   */
  readonly hold: (hold: SharedHold, limits: SettlementLimits) => Promise<HoldResult>
  /** Releases a payment that the balance does not cover. */
  readonly release: (transactionId: string) => Promise<void>
}
