import type { Chain } from '../../chain/Chain.js'
import type { ErrorListener } from '../FacilitatorOptions.js'
import type { Metrics } from '../health/Metrics.js'
import type { SettlementLimits } from '../store/Settlement.js'
import type { Settlement, SettlementStore } from '../store/Settlements.js'

export type SettlerOptions = {
  store: SettlementStore
  chains: readonly Chain[]
  metrics: Metrics
  settleTimeoutMs: number
  pollMs: number
  keepMs: number
  /** The limits on the settlements of all replicas together. */
  limits: SettlementLimits
  onError: ErrorListener
  /** Called once with every settlement that ends, including those of an earlier process. */
  onEnd: (settlement: Settlement) => void
  /** Called with every settlement taken over from another or an earlier process. */
  onTaken: (settlement: Settlement) => void
  /** Called with every unfinished settlement that this process no longer works on, because another one does. */
  onLeft: (settlement: Settlement) => void
  /**
   * Called when nodes begin to reject a payment that they may have accepted before, and when they stop rejecting it.
   */
  onRejected: (settlement: Settlement, isRejected: boolean) => void
}
