import type { BoundedMap } from '@latchkey/algorand'
import type { AgentClient } from '@latchkey/kmd-client'
import type { Chain, PassCache, PaymentLog } from '@latchkey/x402/client'
import type { Quote } from './money.js'
import type { BodyLimits } from './receiveBody.js'

/** What all requests of a wallet share. */
export type WalletParts = {
  readonly agent: AgentClient
  /** The key that pays. */
  readonly address: string
  readonly chain: Chain
  /** Records no second payment for a URL while one is open. */
  readonly payments: PaymentLog
  readonly passes: PassCache
  /** The most that one payment may be, in dollars, whatever a model says. */
  readonly cap: string
  readonly fetch: typeof fetch
  /** The last prices of each request that were shown, one for each asset. */
  readonly quotes: BoundedMap<string, readonly Quote[]>
  readonly bodyLimits: BodyLimits
}
