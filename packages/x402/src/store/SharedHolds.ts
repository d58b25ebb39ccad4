import type { Settlement } from './Settlement.js'
import type { SettlementLimits } from './SettlementLimits.js'

/** A payment that was verified, for the other replicas: it belongs to its claimant, and takes from its payer's balance. */
export type SharedHold = {
  readonly transactionId: string
  readonly network: string
  readonly payer: string
  readonly payTo: string
  readonly claimant: string
  /** What it takes from the payer, in base units by asset id. */
  readonly costs: readonly { readonly asset: string; readonly amount: bigint }[]
  /** What the facilitator pays for it, and from which account. */
  readonly feeMicroAlgos: bigint
  readonly feePayer: string | undefined
  readonly holdMs: number
}

/** The result of {@link SharedHolds.hold}. */
export type HoldResult =
  /**
   * It is held. `ahead` is what other payments of the payer, and of the fee account, were there before it and take: of all
   * replicas, this one included, and without this payment itself. `wasHeld` if the same claimant held it already, at whichever
   * replica: it is held for longer, keeps its place, and meets no limit, because the work for it may be done.
   */
  | { readonly type: 'held'; readonly ahead: HeldAhead; readonly wasHeld: boolean }
  | { readonly type: 'known'; readonly settlement: Settlement }
  /** It belongs to another claimant. */
  | { readonly type: 'claimed' }
  | { readonly type: 'limited'; readonly limit: keyof SettlementLimits }

/** What is ahead of a payment that is held. */
export type HeldAhead = {
  /** By asset id: what is verified, and what settles now and may have left the balance already. */
  readonly costs: readonly { readonly asset: string; readonly held: bigint; readonly settling: bigint }[]
  /**
   * How long ago a payment of the payer was settled, if that was in the last minute: a simulation that started before that
   * has seen a balance that is too high.
   */
  readonly settledAgoMs?: number | undefined
  readonly fees: { readonly all: bigint; readonly settling: bigint; readonly own: bigint; readonly payers: number }
}

/** Payments that are verified and not settled, over all replicas. May be lost with the database's memory, not with a replica. */
export type SharedHolds = {
  /**
   * Looks up the settlement, checks the limits of one that was not held without counting it, and holds the payment: one round
   * trip. Of replicas that hold payments of one payer at once, each sees those before it.
   */
  readonly hold: (hold: SharedHold, limits: SettlementLimits) => Promise<HoldResult>
  /** It is not held any more: the balance does not cover it. */
  readonly release: (transactionId: string) => Promise<void>
}
