/** When something was created and closed, and the changes from which that is known. */
import type * as Block from './Block.js'
import type { State } from './State.js'
import type { StateOverlay } from './StateOverlay.js'

/** Rounds. `created` is unknown for records from a dump without lifetimes; `closed` stays after a new creation. */
export type Lifetime = { readonly created: bigint | undefined; readonly closed?: bigint | undefined }

/** Changes that are about to be committed to `state`. */
export type RecordedChange = {
  readonly changes: StateOverlay
  readonly state: State
  readonly round: bigint
  readonly applied?: readonly Block.Applied[]
}
