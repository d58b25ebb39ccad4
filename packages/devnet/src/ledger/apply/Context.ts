import type { MapKey } from '../MapKey.js'
import type { StateOverlay } from '../StateOverlay.js'

/** The context in which a transaction is applied. */
export type Context = {
  readonly sender: MapKey
  readonly overlay: StateOverlay
  readonly round: bigint
  /** Written as the transaction is applied, because a simulation reports what was known when it failed. */
  readonly outcome: { -readonly [name in keyof Effects]: Effects[name] }
}

/** The effects of a payment, transfer or asset configuration. */
export type Effects = {
  readonly closingAmount?: bigint
  readonly assetClosingAmount?: bigint
  readonly createdAssetId?: bigint
}

/** The effects of a transaction that its fields do not show. Blocks record them. */
export type Outcome = Effects & {
  readonly createdAppId?: bigint
  /** The encoded changes of an application call (`dt`), if there are any. */
  readonly delta?: Uint8Array
}
