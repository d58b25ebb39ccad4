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
