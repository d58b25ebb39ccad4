import type { Devnet } from '@latchkey/devnet'
import type { Chain } from '@latchkey/x402/facilitator'

/** The parts of a stack. */
export type StackParts = {
  readonly devnet: Devnet
  readonly chain: Chain
  readonly kmdUrl: string
  readonly kmdDataDir: string
  /** A data directory for `goal` that contains the daemon's. */
  readonly goalDir: string
  readonly facilitatorUrl: string
  readonly sellerUrl: string
  /** Undefined unless the explorer is served. */
  readonly explorerUrl: string | undefined
  readonly seller: string
  readonly buyer: string
  /** Whether the buyer could no longer pay and was funded again. */
  readonly isBuyerFunded: boolean
  /** Creates a one-time link to the daemon's web console. */
  readonly consoleLink: () => string
}
