import type { Key } from '../Key.js'
import type { StateOverlay } from '../StateOverlay.js'

/** Where a transaction takes effect. */
export type Context = { readonly sender: Key; readonly layer: StateOverlay; readonly round: bigint }

/** What a transaction did beyond what it says: blocks record it, and nodes tell it to whoever asks. */
export type Outcome = {
  readonly closingAmount?: bigint
  readonly assetClosingAmount?: bigint
  readonly createdAssetId?: bigint
}
