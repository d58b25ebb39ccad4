/** ConsensusParameters of the consensus protocol that programs depend on. */
export type ConsensusParameters = {
  /** The newest version of programs. */
  readonly maxVersion: number
  readonly maxStackDepth: number
  /** The budget of the logic signatures of a group, for each transaction. */
  readonly signatureBudget: number
  readonly minTxnFee: bigint
  readonly minBalance: bigint
  readonly maxTxnLife: bigint
  readonly assetMinBalance: bigint
  readonly payouts: {
    readonly isEnabled: boolean
    readonly goOnlineFee: bigint
    readonly percent: bigint
    readonly minBalance: bigint
    readonly maxBalance: bigint
  }
}

/** The parameters of consensus version 42. */
export const defaultParameters: ConsensusParameters = {
  maxVersion: 13,
  maxStackDepth: 1000,
  signatureBudget: 20_000,
  minTxnFee: 1000n,
  minBalance: 100_000n,
  maxTxnLife: 1000n,
  assetMinBalance: 100_000n,
  payouts: {
    isEnabled: true,
    goOnlineFee: 2_000_000n,
    percent: 50n,
    minBalance: 30_000_000_000n,
    maxBalance: 70_000_000_000_000n,
  },
}
