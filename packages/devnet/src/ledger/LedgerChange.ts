/** The changes of a ledger. Two ledgers that replay the same changes in the same order are in the same state. */
import type { ClockState } from './Clock.js'
import type { MapKey } from './MapKey.js'
import type { Snapshot } from './Snapshot.js'

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
