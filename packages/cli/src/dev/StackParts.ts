import type { Devnet } from '@latchkey/devnet'
import type { Chain } from '@latchkey/x402/facilitator'

/** The parts of a stack. */
export type StackParts = {
  readonly devnet: Devnet
  readonly chain: Chain
  readonly kmdUrl: string
  readonly kmdDataDir: string
  /** A data directory for `goal`, with that of the daemon inside. */
  readonly goalDir: string
  readonly facilitatorUrl: string
  readonly sellerUrl: string
  readonly seller: string
  readonly buyer: string
  /** Whether the buyer had nothing left to pay with, and was given money again. */
  readonly isBuyerFunded: boolean
  /** Creates a one-time link to the daemon's web console. */
  readonly consoleLink: () => string
}
