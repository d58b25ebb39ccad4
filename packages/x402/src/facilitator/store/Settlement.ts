/** The settlement record of a store. */

/**
 * The state of a settlement. `pending`: recorded, and may be submitted. `settled`: on the ledger. `failed`: not on the
 * ledger, and can never be.
 */
export type SettlementState = 'pending' | 'settled' | 'failed'

/** A settlement in the store. */
export type Settlement = {
  /** The id of the transaction that pays. */
  readonly transactionId: string
  readonly state: SettlementState
  readonly network: string
  readonly payer: string
  readonly payTo: string
  readonly asset: string
  readonly amount: string
  /** The whole signed group. Exactly these bytes are submitted, even after a restart. */
  readonly group: readonly Uint8Array[]
  readonly firstValid: bigint
  /** After this round the settlement can no longer be confirmed. */
  readonly lastValid: bigint
  /** The fee that the facilitator pays. */
  readonly feeMicroAlgos: bigint
  /**
   * The gate and resource that the payment was settled for; empty if the caller named none. Undefined in records of
   * versions that did not keep it. Such records belong to every claimant.
   */
  readonly claimant?: string | undefined
  /** The round of the confirmation. */
  readonly round?: bigint | undefined
  readonly errorReason?: string | undefined
  readonly errorMessage?: string | undefined
  readonly createdMs: number
}

/** How a settlement ends. */
export type SettlementOutcome = Pick<Settlement, 'round' | 'errorReason' | 'errorMessage'> & {
  readonly state: 'settled' | 'failed'
}

/**
 * Which replica works on which pending settlement. `claim` leases a settlement to the replica that recorded it. The
 * database's clock decides when a lease ends. The leases of a replica that died end.
 */
export type SettlementLeases = {
  /** How long a lease lasts. `renew` is called three times in this period. */
  readonly leaseMs: number
  /** Extends all leases of this replica on the settlements that it still works on. Returns those that it has lost. */
  readonly renew: (transactionIds: readonly string[]) => Promise<readonly string[]>
  /** Takes over pending settlements whose lease has ended, the oldest first. */
  readonly takeOver: (limit: number) => Promise<readonly Settlement[]>
  /** Releases unfinished settlements of a replica that stops, so that others take over immediately. */
  readonly release: () => Promise<void>
  /**
   * Waits until a settlement of another replica has ended, its lease has ended, or the time is up. Returns the current
   * settlement. Calls for many settlements share their lookups.
   */
  readonly watch: (transactionId: string, timeoutMs: number) => Promise<Settlement | undefined>
}

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
   * later. The fees of held payments count too. Payments without a fee are not limited by them.
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
  /** The settlement is not recorded, because the payment is held for another claimant. */
  | { readonly type: 'claimed' }
  /** The settlement is not recorded, because of a limit. */
  | { readonly type: 'limited'; readonly limit: keyof SettlementLimits }

/** A digest of each setting, by its name. */
export type SettingDigests = { readonly [setting: string]: string }

/** Another replica that works on the same store. */
export type ReplicaSettings = {
  /** The machine and process of the replica, for messages. */
  readonly replica: string
  readonly settings: SettingDigests
}

/** The settings that replicas announce to each other. */
export type SharedSettings = {
  /** Announces the settings of this replica, and returns those that others announced in the last minute. */
  readonly announce: (settings: SettingDigests) => Promise<readonly ReplicaSettings[]>
}

/** A verified payment, which belongs to its claimant, and counts against its payer's balance. */
export type PaymentHold = {
  readonly transactionId: string
  readonly network: string
  readonly payer: string
  readonly payTo: string
  readonly claimant: string
  /** The payment belongs to the claimant until the ledger is past this round. */
  readonly lastValid: bigint
  /**
   * Whether the seller works before the payment is settled. The claimant must then survive a crash of the database
   * server or the machine.
   */
  readonly isPaidAfterwards: boolean
  /** The cost for the payer, in base units by asset id. */
  readonly costs: readonly { readonly asset: string; readonly amount: bigint }[]
  /** The fee that the facilitator pays, and the account that pays it. */
  readonly feeMicroAlgos: bigint
  readonly feePayer: string | undefined
  /** How long the cost counts against the balance of the payer, and the fee against the limits. */
  readonly holdMs: number
}

/** The result of {@link HoldStore.hold}. */
export type HoldResult =
  /**
   * The payment is held. `wasHeld` is true if it already belonged to the same claimant, at any replica. The payment is
   * then held for longer, keeps its place, and is not limited, because the seller may already have done the work.
   */
  | {
      readonly type: 'held'
      readonly wasHeld: boolean
      /**
       * The amounts of other payments of the payer and the fee account that were there first, from all replicas
       * including this one, without this payment. Undefined if the store does not count amounts.
       */
      readonly ahead?: HeldAhead | undefined
    }
  | { readonly type: 'known'; readonly settlement: Settlement }
  /** The payment belongs to another claimant. */
  | { readonly type: 'claimed' }
  | { readonly type: 'limited'; readonly limit: keyof SettlementLimits }
  /** The store has no room for another hold now. */
  | { readonly type: 'full' }

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
 * Payments that are verified and not settled, over all replicas. Whom a payment belongs to is durable, and no clock ends
 * it: only the ledger does, because a clock does not know until when a payment is valid. The amounts that count against
 * a balance may be lost with the database's memory, but not with a replica.
 */
export type HoldStore = {
  /**
   * Whether the store counts the amounts of all replicas. If not, every process counts its own, and looks up a
   * settlement before it asks the node about the payment.
   */
  readonly isCounted: boolean
  /**
   * Looks up the settlement, checks the limits of a payment that was not held, and holds the payment for its claimant,
   * in one round trip. {@link decideHold} is the decision. Replicas that concurrently hold payments of one payer each
   * see the earlier ones.
   *
   * A payment that is held within the limits is admitted: its fee counts against them until the hold ends, and it
   * counts in the rates if its seller works before it is paid. A hold that has expired is admitted again only within
   * the limits.
   */
  readonly hold: (hold: PaymentHold, limits: SettlementLimits) => Promise<HoldResult> | HoldResult
  /** The claimant that a payment is held for; undefined if it is not held. */
  readonly claimantOf: (transactionId: string) => Promise<string | undefined> | string | undefined
  /** Releases a payment that this claimant held and that is not settling, because the balance does not cover it. */
  readonly release: (transactionId: string, claimant: string) => Promise<void> | void
  /**
   * Deletes the holds of payments whose last valid round is before this round, which the ledger has passed. May also
   * delete the records of authorizations that were charged nothing, because no other amount can settle then.
   */
  readonly forget: (network: string, round: bigint) => Promise<void> | void
}
