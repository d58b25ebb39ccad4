import type { Chain } from '../chain/Chain.js'
import type { SettlementLimits } from '../store/SettlementLimits.js'
import type { Settlement, SettlementStore } from '../store/Settlements.js'
import type { ErrorListener } from './ErrorListener.js'
import type { Metrics } from './Metrics.js'

export type SettlerOptions = {
  store: SettlementStore
  chains: readonly Chain[]
  metrics: Metrics
  settleTimeoutMs: number
  pollMs: number
  keepMs: number
  /** What holds for the settlements of all replicas together. */
  limits: SettlementLimits
  onError: ErrorListener
  /** Called once with every settlement that ends, also with one of an earlier process. */
  onEnd: (settlement: Settlement) => void
  /** Called with every settlement that another process, or an earlier one, has left. */
  onTaken: (settlement: Settlement) => void
  /** Called with every settlement that this process no longer works on, although it has not ended: another one does. */
  onLeft: (settlement: Settlement) => void
  /** Called when nodes begin to reject one that they may have accepted before, and when they no longer do. */
  onRejected: (settlement: Settlement, isRejected: boolean) => void
}
