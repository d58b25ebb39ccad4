/** The changes of a ledger. Two ledgers that replay the same changes in the same order are in the same state. */
import type { Block } from './Block.js'
import type { LifetimesCopy } from './Lifetimes.js'
import type { MapKey } from './MapKey.js'
import type { StateCopy } from './State.js'

export type LedgerChange =
  /** A group accepted into the open block: its concatenated signed transactions. */
  | {
      readonly type: 'group'
      readonly bytes: Uint8Array
      /** The digest of the outcome of a group with application calls: see `outcomeDigest`. */
      readonly digest?: Uint8Array | undefined
    }
  /** The open block was closed. */
  | { readonly type: 'block'; readonly timestamp: bigint }
  | { readonly type: 'clock'; readonly clock: ClockState }
  | FundChange
  /** Everything was replaced: a revert, or a loaded dump. */
  | { readonly type: 'restore'; readonly snapshot: Snapshot }
  | { readonly type: 'reset' }

/** Algos and assets moved from the faucet account without a signature. The supply stays the same. */
export type FundChange = {
  readonly type: 'fund'
  readonly to: MapKey
  readonly microAlgos: bigint
  /** Each asset is opted in to, with the Algos for its minimum balance. The amount, if any, is then moved. */
  readonly assets: readonly { readonly assetId: bigint; readonly amount: bigint }[]
}

/** The clock by which blocks get their timestamps. */
export type ClockState = {
  readonly offsetSeconds: bigint | undefined
  /** How far this clock is ahead of the machine's. */
  readonly aheadSeconds: bigint
  /** The timestamp of the next block, if it was set. */
  readonly nextTimestamp: bigint | undefined
}

/** The complete state of a ledger. */
export type Snapshot = {
  readonly state: StateCopy
  /** The latest blocks, oldest first; at least one. */
  readonly blocks: readonly Block[]
  /** Accepted groups that are not in a block yet. */
  readonly pending: readonly Uint8Array[]
  readonly clock: ClockState
  /** Absent if the ledger does not track them. */
  readonly lifetimes?: LifetimesCopy | undefined
}
