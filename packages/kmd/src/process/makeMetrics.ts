/** The metrics of a running daemon other than those of its operations. */
import type { Recorder } from '../audit/Recorder.js'
import type { Handles } from '../Handles.js'
import { Metrics } from '../Metrics.js'
import type { Wallets } from '../wallet/Wallets.js'
import type { Log } from './Log.js'

export type Measured = { handles: Handles; wallets: Wallets; log: Log; recorder: Recorder }

export function makeMetrics({ handles, wallets, log, recorder }: Measured): Metrics {
  const metrics = new Metrics()
  metrics.gauge({ name: 'latchkey_open_handles', help: 'Open wallet handles.', read: () => handles.size })
  metrics.gauge({
    name: 'latchkey_wallet_problems',
    help: 'Files in the wallets directory that are refused or damaged, when they were last listed.',
    read: () => wallets.problems().length,
  })
  metrics.gauge({
    name: 'latchkey_lost_log_lines',
    help: 'Lines that could not be written to kmd.log since the start, for example on a full disk.',
    read: () => log.lostLines,
  })
  metrics.gauge({
    name: 'latchkey_lost_audit_records',
    help: 'Events since the start that could not be recorded in the audit log, for example on a full disk.',
    read: () => recorder.lost,
  })
  metrics.gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process.',
    read: () => process.memoryUsage.rss(),
  })
  return metrics
}
