/** Opens a ledger, with its state file if there is one. */
import { DevnetError } from './errors.js'
import type { Genesis } from './ledger/Genesis.js'
import { type HistoryLimits, unlimited } from './ledger/History.js'
import { defaultHistory, Ledger } from './ledger/Ledger.js'
import { StateFile } from './store/StateFile.js'

export type OpenLedgerOptions = {
  readonly genesis: Genesis
  readonly stateFile?: string | undefined
  readonly compactBytes?: number | undefined
  readonly historyBlocks?: number | undefined
  readonly archival?: boolean | undefined
  readonly tracksLifetimes: boolean
  /** Called before the state file is read, which replays all changes. */
  readonly onCreate: (ledger: Ledger) => void
  readonly onError?: ((error: unknown) => void) | undefined
}

export type OpenLedger = { readonly ledger: Ledger; readonly stateFile: StateFile | undefined }

const defaultCompactBytes = 256 * 1024 * 1024

export async function openLedger({
  genesis,
  stateFile: path,
  compactBytes = defaultCompactBytes,
  historyBlocks,
  archival = false,
  tracksLifetimes,
  onCreate,
  onError = () => {},
}: OpenLedgerOptions): Promise<OpenLedger> {
  if (archival && historyBlocks !== undefined) {
    throw new DevnetError('invalid_option', 'give archival or historyBlocks, not both')
  }
  const ledger = new Ledger({ genesis, history: historyOf(archival, historyBlocks), tracksLifetimes })
  onCreate(ledger)
  if (path === undefined) return { ledger, stateFile: undefined }
  const stateFile = await StateFile.open({ path, genesis, replay: (change) => ledger.replay(change) })
  let isCompacting = false
  const compact = async (): Promise<void> => {
    try {
      await stateFile.compact(ledger.snapshot())
    } catch (error) {
      onError(error)
    }
    isCompacting = false
  }
  ledger.useJournal((change) => {
    stateFile.append(change)
    if (isCompacting || stateFile.bytesSinceCompaction <= compactBytes) return
    isCompacting = true
    // Deferred until the change has happened, because the snapshot must include it.
    setImmediate(compact)
  })
  return { ledger, stateFile }
}

function historyOf(archival: boolean, blocks: number = defaultHistory.blocks): HistoryLimits {
  return archival ? unlimited : { ...defaultHistory, blocks }
}
