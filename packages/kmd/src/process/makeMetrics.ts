/** The metrics of a running daemon other than those of its operations. */
import type { Recorder } from '../audit/Recorder.js'
import type { Handles } from '../Handles.js'
import { Metrics } from '../Metrics.js'
import type { Wallets } from '../wallet/Wallets.js'
import type { Log } from './Log.js'

export type Measured = { handles: Handles; wallets: Wallets; log: Log; recorder: Recorder }

export function makeMetrics({ handles, wallets, log, recorder }: Measured): Metrics {
  const metrics = new Metrics()
  metrics.gauge({ name: 'latchkey_open_handles', help: 'Wallet handles that are open.', read: () => handles.size })
  metrics.gauge({
    name: 'latchkey_wallet_problems',
    help: 'Files in the wallets directory that are refused or damaged, as of the last list.',
    read: () => wallets.problems().length,
  })
  metrics.gauge({
    name: 'latchkey_lost_log_lines',
    help: 'Lines that kmd.log did not take since the start, as on a full disk.',
    read: () => log.lostLines,
  })
  metrics.gauge({
    name: 'latchkey_lost_audit_records',
    help: 'Things that happened since the start and could not be recorded in the audit log, as on a full disk.',
    read: () => recorder.lost,
  })
  metrics.gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process.',
    read: () => process.memoryUsage.rss(),
  })
  return metrics
}
