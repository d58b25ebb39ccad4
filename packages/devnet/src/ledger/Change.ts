/** What can happen to a ledger. Told the same changes in the same order, two ledgers are the same. */
import type { ClockState } from './Clock.js'
import type { Key } from './Key.js'
import type { Snapshot } from './Snapshot.js'

export type Change =
  /** A group taken into the open block: its signed transactions, one after another. */
  | { readonly type: 'group'; readonly bytes: Uint8Array }
  /** The open block closed. */
  | { readonly type: 'block'; readonly timestamp: bigint }
  | { readonly type: 'clock'; readonly clock: ClockState }
  | Gift
  /** Everything replaced: a revert, or a dump loaded. */
  | { readonly type: 'moment'; readonly moment: Snapshot }
  | { readonly type: 'reset' }

/** Something given without a signature, out of the dispenser's hand: nothing is ever made from nothing. */
export type Gift = {
  readonly type: 'gift'
  readonly to: Key
  readonly microAlgos: bigint
  /** Opted in by force, with what that takes in Algos; then this much is moved, if any. */
  readonly assets: readonly { readonly assetId: bigint; readonly amount: bigint }[]
}
