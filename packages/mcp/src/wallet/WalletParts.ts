import type { BoundedMap } from '@latchkey/algorand'
import type { AgentClient } from '@latchkey/kmd-client'
import type { Chain, PassCache, PaymentLog } from '@latchkey/x402/client'
import type { Quote } from './money.js'
import type { BodyLimits } from './receiveBody.js'

/** The parts that all requests of a wallet share. */
export type WalletParts = {
  readonly agent: AgentClient
  /** The paying key. */
  readonly address: string
  readonly chain: Chain
  /** Refuses a second payment for a URL while one is open. */
  readonly payments: PaymentLog
  readonly passes: PassCache
  /** The maximum of a single payment, in dollars, which a model cannot raise. */
  readonly cap: string
  readonly fetch: typeof fetch
  /** The last prices shown for each request, one per asset. */
  readonly quotes: BoundedMap<string, readonly Quote[]>
  readonly bodyLimits: BodyLimits
}
