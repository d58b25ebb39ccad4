/** Reads a state file from its beginning, and distinguishes an unfinished end from damage. */
import type { FileHandle } from 'node:fs/promises'
import { StateFileError } from '../../errors.js'
import type { Genesis } from '../../ledger/Genesis.js'
import type { LedgerChange } from '../../ledger/LedgerChange.js'
import * as avm from '../../ledger/programs/avm.js'
import * as ChangeRecord from './ChangeRecord.js'
import * as FileHeader from './FileHeader.js'
import { FileWindow } from './FileWindow.js'

export type ScanOptions = { handle: FileHandle; path: string; genesis: Genesis; replay: (change: LedgerChange) => void }

export type ScanResult = {
  /** The end of the last complete record. Later bytes were being written when the program ended. */
  end: number
  /** The end of the snapshot at the beginning of a compacted file; in other files, the start of the first record. */
  compactedEnd: number
}

export async function scan({ handle, path, genesis, replay }: ScanOptions): Promise<ScanResult> {
  const { size } = await handle.stat()
  const window = new FileWindow(handle, size)
  const headerBytes = Math.min(FileHeader.length, size)
  await window.load(0, headerBytes)
  FileHeader.check(window.view(0, headerBytes), genesis.fingerprint, path)
  let offset = FileHeader.length
  let compactedEnd = offset
  while (offset < size) {
    const header = await headerAt(window, offset)
    const payload = header && (await payloadAt(window, offset, header))
    if (header === undefined || payload === undefined) break
    const options = { path, offset, genesis, replay }
    const type = await avm.withPrograms(() => replayRecord(payload, options))
    const end = offset + ChangeRecord.headerBytes + header.payloadBytes
    if (offset === FileHeader.length && type === 'restore') compactedEnd = end
    offset = end
  }
  if (offset < size) await checkUnfinished(window, offset, path)
  return { end: offset, compactedEnd }
}

async function headerAt(window: FileWindow, offset: number): Promise<ChangeRecord.RecordHeader | undefined> {
  if (offset + ChangeRecord.headerBytes > window.size) return undefined
  if (!window.has(offset, ChangeRecord.headerBytes)) await window.load(offset, ChangeRecord.headerBytes)
  return ChangeRecord.headerIn(window.view(offset, ChangeRecord.headerBytes))
}

/** Returns the payload if it is complete and its checksum is correct. */
async function payloadAt(
  window: FileWindow,
  offset: number,
  header: ChangeRecord.RecordHeader,
): Promise<Buffer | undefined> {
  const start = offset + ChangeRecord.headerBytes
  if (start + header.payloadBytes > window.size) return undefined
  if (!window.has(start, header.payloadBytes)) await window.load(start, header.payloadBytes)
  const payload = window.view(start, header.payloadBytes)
  return ChangeRecord.isIntact(payload, header) ? payload : undefined
}

type ReplayOptions = Omit<ScanOptions, 'handle'> & { offset: number }

function replayRecord(payload: Buffer, { path, offset, genesis, replay }: ReplayOptions): LedgerChange['type'] {
  try {
    const change = ChangeRecord.decode(payload, genesis)
    replay(change)
    return change.type
  } catch (error) {
    if (avm.isNotLoaded(error)) throw error
    const why = error instanceof Error ? error.message : String(error)
    const message = `${path}: the change at byte ${offset} cannot be replayed: ${why}. The file is unchanged`
    const hint = 'open it with the version that wrote it, and load a dump of that here; or start with another path'
    throw new StateFileError('state_file_version', message, { hint, cause: error })
  }
}

/** Records are written in sequence, so no complete record can follow an unfinished one. */
async function checkUnfinished(window: FileWindow, offset: number, path: string): Promise<void> {
  const header = await headerAt(window, offset)
  const from = header === undefined ? offset + 1 : offset + ChangeRecord.headerBytes + header.payloadBytes
  const intact = await findRecord(window, from)
  if (intact === undefined) return
  throw new StateFileError(
    'state_file_damaged',
    `${path} is damaged at byte ${offset}: an intact record follows at byte ${intact}. The file is unchanged`,
    {
      hint: `restore a copy of the file, or discard the damaged part and everything after it: truncate -s ${offset} ${path}`,
    },
  )
}

/** The offset of the first complete record at or after `from`. */
async function findRecord(window: FileWindow, from: number): Promise<number | undefined> {
  for (let offset = from; offset + ChangeRecord.headerBytes < window.size; offset++) {
    if (!window.has(offset, ChangeRecord.headerBytes)) await window.load(offset, ChangeRecord.headerBytes)
    // This check rules out most offsets, of which there may be hundreds of millions.
    const payloadBytes = window.uint32(offset)
    if (payloadBytes === 0 || payloadBytes > window.size - offset - ChangeRecord.headerBytes) continue
    const header = ChangeRecord.headerIn(window.view(offset, ChangeRecord.headerBytes))
    if (header !== undefined && (await payloadAt(window, offset, header)) !== undefined) return offset
  }
  return undefined
}
