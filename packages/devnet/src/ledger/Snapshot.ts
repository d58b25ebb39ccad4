/** The complete state of a ledger. */
import type { Block } from './Block.js'
import type { ClockState } from './Clock.js'
import type { LifetimesCopy } from './Lifetimes.js'
import type { StateCopy } from './State.js'

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
