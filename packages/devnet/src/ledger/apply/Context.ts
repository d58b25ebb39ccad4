import type { MapKey } from '../MapKey.js'
import type { StateOverlay } from '../StateOverlay.js'

/** The context in which a transaction is applied. */
export type Context = {
  readonly sender: MapKey
  readonly overlay: StateOverlay
  readonly round: bigint
  /** Written as the transaction is applied, because a simulation reports what was known when it failed. */
  readonly outcome: { -readonly [name in keyof Outcome]: Outcome[name] }
}

/** The effects of a transaction that its fields do not show. Blocks record them. */
export type Outcome = {
  readonly closingAmount?: bigint
  readonly assetClosingAmount?: bigint
  readonly createdAssetId?: bigint
}
