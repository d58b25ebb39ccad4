/** A settlement as stores record it. */

/**
 * Where a settlement stands: `pending` is recorded and may be submitted, `settled` is on the ledger, `failed` is not on
 * the ledger and never can be.
 */
export type SettlementState = 'pending' | 'settled' | 'failed'

/** A settlement as the store records it. */
export type Settlement = {
  /** The id of the transaction that pays. */
  readonly transactionId: string
  readonly state: SettlementState
  readonly network: string
  readonly payer: string
  readonly payTo: string
  readonly asset: string
  readonly amount: string
  /** The whole group, signed: exactly these bytes are submitted, also after a restart. */
  readonly group: readonly Uint8Array[]
  readonly firstValid: bigint
  /** After this round it cannot be confirmed any more. */
  readonly lastValid: bigint
  /** The fee that the facilitator pays. */
  readonly feeMicroAlgos: bigint
  /**
   * The gate and resource that it was settled for; empty if the caller named none. Undefined in records of versions that
   * did not keep it: those belong to every claimant.
   */
  readonly claimant?: string | undefined
  /** The round in which it was confirmed. */
  readonly round?: bigint | undefined
  readonly errorReason?: string | undefined
  readonly errorMessage?: string | undefined
  readonly createdMs: number
}

/** How a settlement ends. */
export type SettlementOutcome = Pick<Settlement, 'round' | 'errorReason' | 'errorMessage'> & {
  readonly state: 'settled' | 'failed'
}
