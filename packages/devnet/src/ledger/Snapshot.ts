/** Everything there is to a ledger at one moment. */
import type { Block } from './Block.js'
import type { ClockState } from './Clock.js'
import type { StateCopy } from './State.js'

export type Snapshot = {
  readonly state: StateCopy
  /** The latest blocks, oldest first; never none. */
  readonly blocks: readonly Block[]
  /** Groups that were accepted and are in no block yet. */
  readonly pending: readonly Uint8Array[]
  readonly clock: ClockState
}
