/** A block header, as far as programs can read it. */
export type BlockHeader = {
  readonly seed: Uint8Array
  /** Seconds since 1970. */
  readonly timestamp: bigint
  readonly branch: Uint8Array
  readonly branch512: Uint8Array
  readonly proposer: Uint8Array
  readonly feesCollected: bigint
  readonly bonus: bigint
  readonly proposerPayout: bigint
  readonly feeSink: Uint8Array
  /** The name of the consensus version. */
  readonly protocol: string
  readonly transactionCounter: bigint
  readonly sha512_256Commitment: Uint8Array
  readonly sha256Commitment: Uint8Array
  readonly sha512Commitment: Uint8Array
}

/**
 * The host's view of the chain. Logic signatures read block headers only; applications need an extension of this type
 * with accounts, assets, applications and boxes.
 */
export type Ledger = {
  /** The hash of the genesis block. */
  readonly genesisHash: Uint8Array
  /** Returns the header of a block. The evaluator asks only for rounds that the transaction's validity permits. */
  readonly blockHeader: (round: bigint) => BlockHeader
}
