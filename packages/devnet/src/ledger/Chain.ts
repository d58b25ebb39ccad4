import type { SpecialAddresses } from './checkWellFormed.js'
import type { MapKey } from './MapKey.js'

/** A network: its special addresses, and what transactions name it by. */
export type Chain = SpecialAddresses & {
  readonly genesisId: string
  readonly genesisHash: MapKey
}
